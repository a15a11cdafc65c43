"""The experiments that come with attnjax, and the file that a name or a path stands for.

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
    """The shipped experiments, by name. Their files are parsed, not run: it takes no time."""
    entries = []
    for path in sorted(shipped_folder().glob("*.py")):
        note = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        question, _, paper = note.partition("\n")[0].partition("  ")
        entries.append(CatalogEntry(path.stem, question.strip(), paper.strip()))
    return entries


def find(experiment: str) -> Path:
    """The file of an experiment: a path, or the name of a shipped one.

    Raises:
        UserError: there is no such file, or no experiment of that name (the nearest is named).
    """
    path = Path(experiment)
    if path.is_file():
        return path
    by_name = shipped_folder() / f"{experiment}.py"
    if experiment.isidentifier() and by_name.is_file():
        return by_name
    if path.suffix == ".py" or len(path.parts) > 1:
        raise UserError(f"there is no experiment file {experiment}")
    raise unknown("experiment", experiment, [entry.name for entry in catalog()])
