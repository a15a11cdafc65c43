"""The shipped experiments, and finding an experiment's file by name or path.

Nothing here imports JAX, so that `attnjax list` is quick.
"""

import ast
import json
from pathlib import Path
from typing import NamedTuple

from attnjax.errors import UserError, unknown
from attnjax.runs.trust import shipped_folder


class CatalogEntry(NamedTuple):
    """A shipped experiment, and the minutes of all its recorded runs, one after the other."""

    name: str
    question: str
    paper: str
    minutes: float | None


def names() -> list[str]:
    """The names of the shipped experiments, sorted."""
    return sorted(path.stem for path in shipped_folder().glob("*.py"))


def catalog() -> list[CatalogEntry]:
    """The shipped experiments, sorted by name. Their files are parsed but not executed."""
    entries = []
    for path in sorted(shipped_folder().glob("*.py")):
        note = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        question, _, paper = note.partition("\n")[0].partition("  ")
        minutes = _minutes(shipped_folder().parent / "records" / path.stem)
        entries.append(CatalogEntry(path.stem, question.strip(), paper.strip(), minutes))
    return entries


def _minutes(records: Path) -> float | None:
    """The minutes of the recorded runs, each run once; a variant is tuned once; None: no runs."""
    runs, tuning = dict[tuple[str, str], float](), dict[str, float]()
    for path in sorted(records.glob("*/*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        minutes, variant = record["minutes"], path.parent.name
        runs[variant, record["seed"]] = minutes["train"] + (minutes["decode"] or 0)
        tuning[variant] = minutes["tune"]
    return sum(runs.values()) + sum(tuning.values()) if runs else None


def find(experiment: str) -> Path:
    """The file of an experiment: the name of a shipped one, or a path.

    A path ends in ".py" or has a "/", so that no file in the current folder hides a shipped one.
    """
    by_name = shipped_folder() / f"{experiment}.py"
    if experiment.isidentifier() and by_name.is_file():
        return by_name
    path = Path(experiment)
    if path.suffix != ".py" and "/" not in experiment:
        raise unknown("experiment", experiment, names())
    if not path.is_file():
        why = "is no regular file" if path.exists() else "does not exist"
        raise UserError(f"the experiment file {experiment} {why}")
    return path
