"""Stand-ins for the engines' programs."""

import os
from pathlib import Path

import pytest

from tests.launch.recorder import Recorder


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Put stand-ins on the path, before the programs of the machine."""
    made = Recorder(tmp_path / "recorder")
    monkeypatch.setenv("PATH", f"{made.programs}:{os.environ['PATH']}")
    return made


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a path without programs."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
