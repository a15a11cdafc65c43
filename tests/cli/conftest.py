"""A finished run for the commands."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def run(tiny_runs) -> Path:
    """Return a finished run, by greedy search."""
    return tiny_runs / "tiny" / "cosine" / "seed-0"


@pytest.fixture
def damaged(run, tmp_path) -> Path:
    """Copy the run, to be damaged."""
    return Path(shutil.copytree(run, tmp_path / "tiny" / "cosine" / "seed-0"))
