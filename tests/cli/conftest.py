"""A finished run for the commands."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def run(tiny_runs) -> Path:
    """A finished run, by greedy search."""
    return tiny_runs / "tiny" / "cosine" / "seed-0"


@pytest.fixture
def damaged(run, tmp_path) -> Path:
    """A copy of it, to be spoiled."""
    return Path(shutil.copytree(run, tmp_path / "tiny" / "cosine" / "seed-0"))
