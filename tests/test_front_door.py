"""`import attnjax` in a notebook: what stands behind the dot, and that nothing loads before it."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import assert_type

import pytest

import attnjax
from attnjax.errors import UserError
from attnjax.experiment.load import ExperimentFile

ROOT = Path(__file__).parents[1]
ROOMS = (
    "attention",
    "data",
    "decoding",
    "evaluation",
    "experiment",
    "models",
    "nn",
    "training",
)
FUNCTIONS = ("compare", "load", "open", "results", "run", "show")


def started(program: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_names_are_the_rooms_and_six_functions():
    """Also once others are imported: Python adds each imported module to its package."""
    wanted = sorted([*ROOMS, *FUNCTIONS, "__version__"])
    import attnjax.config.console

    assert attnjax.config.console
    assert dir(attnjax) == wanted
    assert started("import attnjax; print(*dir(attnjax))").split() == wanted


def test_every_name_is_there_and_loaded_when_it_is_touched():
    """In a process that has imported nothing else of attnjax."""
    program = (
        "import sys, attnjax\n"
        "assert 'attnjax.attention' not in sys.modules\n"
        "assert attnjax.attention.Softmax and attnjax.nn.Dense\n"
        "for name in dir(attnjax): getattr(attnjax, name)\n"
        "assert callable(attnjax.open) and callable(attnjax.results.rows)\n"
    )
    started(program)


def test_another_name_is_no_attribute():
    with pytest.raises(AttributeError, match="module 'attnjax' has no attribute 'atention'"):
        attnjax.atention  # noqa: B018


def test_an_experiment_is_loaded_by_its_name_or_path():
    """`assert_type` says, to a type checker, that the lazy names have the types of their homes."""
    loaded = attnjax.load("scaling_and_heads")
    assert_type(loaded, ExperimentFile)
    assert loaded.name == "scaling_and_heads"
    assert attnjax.load(loaded.path).ablation == loaded.ablation
    with pytest.raises(UserError, match="unknown experiment 'scaling'; did you mean"):
        attnjax.load("scaling")
    with pytest.raises(UserError, match=r"the experiment file mine\.py does not exist"):
        attnjax.load("mine.py")


def test_the_version_is_said_once():
    """pyproject.toml takes it from the package; the changelog and the citation are of it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "attnjax/__init__.py"
    assert f"version: {attnjax.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {attnjax.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()
