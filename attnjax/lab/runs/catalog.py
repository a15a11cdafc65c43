"""The shipped experiments, and finding an experiment's file by name or path.

Nothing here imports JAX, so that `attnjax list` is quick.
"""

import ast
import json
from pathlib import Path
from typing import NamedTuple

from attnjax.errors import UserError, unknown
from attnjax.lab.runs.trust import shipped_folder

RERUNS = "reruns.json"
"""The time of one rerun of each recorded experiment, in words; `make docs` writes it."""


def shipped_records() -> Path:
    """Return the folder of the records that come with attnjax."""
    return shipped_folder().parent / "records"


def records_folder(given: str = "") -> Path:
    """Return a folder of records; "": that of the current folder, or else the shipped one."""
    if given:
        return Path(given)
    here = Path("records")
    return here if here.is_dir() else shipped_records()


def with_shipped(folder: Path) -> list[Path]:
    """Return a folder of records and the shipped one, which always counts; once, if it is that."""
    shipped = shipped_records()
    return [folder] if folder.resolve() == shipped.resolve() else [folder, shipped]


class CatalogEntry(NamedTuple):
    """A shipped experiment, and how long one rerun takes, in words."""

    name: str
    question: str
    paper: str
    rerun: str


def names() -> list[str]:
    """Return the names of the shipped experiments, sorted."""
    return sorted(path.stem for path in shipped_folder().glob("*.py"))


def catalog() -> list[CatalogEntry]:
    """List the shipped experiments by name. Their files are parsed but not executed."""
    entries = []
    reruns = json.loads((shipped_folder() / RERUNS).read_text(encoding="utf-8"))
    for path in sorted(shipped_folder().glob("*.py")):
        note = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        question, _, paper = note.partition("\n")[0].partition("  ")
        rerun = reruns.get(path.stem, "not run")
        entries.append(CatalogEntry(path.stem, question.strip(), paper.strip(), rerun))
    return entries


def find(experiment: str) -> Path:
    """Find the file of an experiment by the name of a shipped one, or by a path.

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
    if path.suffix == ".ipynb":
        raise UserError(
            f"{experiment} is a notebook, and an experiment is a file of Python: "
            "`jupyter nbconvert --to script` makes one"
        )
    return path
