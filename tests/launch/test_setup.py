"""`make setup EXTRA=cuda` installs JAX for GPUs, and stays with it."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.fixture
def make(recorder, tmp_path):
    """Calls make in a checkout whose Python is a stand-in; returns what it installs."""
    recorder.stand_in("python", "python3.12")
    checkout = tmp_path / "checkout"
    (checkout / "launch").mkdir(parents=True)
    for path in ("Makefile", "launch/setup.sh", "pyproject.toml", "constraints.txt"):
        shutil.copyfile(ROOT / path, checkout / path)
    # the stand-in for `python -m venv` makes no folder
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(recorder.programs / "python")

    def call(*words: str) -> list[str]:
        before = len(recorder.calls)
        subprocess.run(["make", "setup", *words], cwd=checkout, check=True, capture_output=True)
        calls = [call.words for call in recorder.calls[before:]]
        cleared = [words[3] for words in calls if words[1:3] == ["-m", "venv"]]
        return cleared + [words[-1] for words in calls if "-e" in words]

    return call


def test_the_extra_is_installed_and_remembered(make):
    assert make("EXTRA=cuda") == [".[dev,docs,cuda]"]
    assert make("EXTRA=cuda") == []
    assert make() == [], "make test after make setup EXTRA=cuda keeps JAX for GPUs"


def test_another_extra_is_installed_anew(make):
    """JAX for CPUs is extended; JAX for one accelerator makes room for that of another."""
    assert make() == [".[dev,docs]"]
    assert make("EXTRA=cuda") == [".[dev,docs,cuda]"]
    assert make("EXTRA=tpu") == ["--clear", ".[dev,docs,tpu]"]
    assert make("EXTRA=") == ["--clear", ".[dev,docs]"]
    assert make() == []
