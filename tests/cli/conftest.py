"""A finished run for the commands, made once."""

import shutil
from pathlib import Path

import pytest

from attnjax.cli.main import main
from tests.cli.saying import TINY


@pytest.fixture(scope="session")
def run(tmp_path_factory) -> Path:
    """A finished run, by greedy search."""
    folder = tmp_path_factory.mktemp("runs")
    words = ["--variant", "cosine", "--seeds", "1", "--runs", str(folder)]
    assert main(["run", TINY, *words]) == 0
    return folder / "tiny" / "cosine" / "seed-0"


@pytest.fixture
def damaged(run, tmp_path) -> Path:
    """A copy of it, to be spoiled."""
    return Path(shutil.copytree(run, tmp_path / "tiny" / "cosine" / "seed-0"))
