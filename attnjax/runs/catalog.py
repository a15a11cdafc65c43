"""The shipped experiments, and finding an experiment's file by name or path.

Nothing here imports JAX, so that `attnjax list` is quick.
"""

import ast
from pathlib import Path
from typing import NamedTuple

from attnjax.errors import UserError, unknown
from attnjax.runs.trust import shipped_folder


class CatalogEntry(NamedTuple):
    """A shipped experiment, as `attnjax list` shows it."""

    name: str
    question: str
    paper: str


def catalog() -> list[CatalogEntry]:
    """The shipped experiments, sorted by name. Their files are parsed but not executed."""
    entries = []
    for path in sorted(shipped_folder().glob("*.py")):
        note = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        question, _, paper = note.partition("\n")[0].partition("  ")
        entries.append(CatalogEntry(path.stem, question.strip(), paper.strip()))
    return entries


def find(experiment: str) -> Path:
    """The file of an experiment: the name of a shipped one, or a path.

    A path ends in ".py" or has a "/", so that no file in the current folder hides a shipped one.
    """
    by_name = shipped_folder() / f"{experiment}.py"
    if experiment.isidentifier() and by_name.is_file():
        return by_name
    path = Path(experiment)
    if path.suffix != ".py" and "/" not in experiment:
        raise unknown("experiment", experiment, [entry.name for entry in catalog()])
    if not path.is_file():
        raise UserError(f"the experiment file {experiment} does not exist")
    return path
