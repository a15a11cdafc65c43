"""Copies for jobs: the experiment file as it was submitted, and a record of the code's changes."""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from attnjax.experiment.load import ExperimentFile
from attnjax.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

FOLDERS, KINDS = ("attnjax", "experiments"), (".py", ".typed", ".jinja", ".css", ".js", ".json")
FILES = ("pyproject.toml", "constraints.txt")
"""What can change a result. A patch has no other file: it may have keys."""

CHANGES = "changes.patch"
"""The name of the record, in a run's folder."""


def copy_for(loaded: ExperimentFile, folder: Path) -> Path:
    """Return the path of the copy of an experiment file.

    Each text has a folder of its own: jobs that wait in a queue run the text that was submitted.
    """
    total = hashlib.sha256(loaded.text.encode())
    for name, content in _modules(loaded).items():
        total.update(f"{name}\n".encode() + content)
    return folder / total.hexdigest()[:12] / f"{loaded.name}.py"


def ship(loaded: ExperimentFile, copy: Path) -> None:
    """Copy an experiment file, and the modules of its folder that it imports, for its jobs."""
    for name, content in {copy.name: loaded.text.encode(), **_modules(loaded)}.items():
        path = copy.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)


def _modules(loaded: ExperimentFile) -> dict[str, bytes]:
    """Return the modules beside an experiment file that the file imports, by their paths there."""
    folder = loaded.path.resolve().parent
    below = sorted(name for name in loaded.imported if Path(name).parts[0] != "..")
    return {name: (folder / name).read_bytes() for name in below}


def changes(root: Path = ROOT) -> str:
    """Return the commit of a checkout, and the changes since as a patch, new files included.

    The result is "" if the package is not in a checkout of git, or git is missing.
    """
    code = [f":(glob){folder}/**/*{kind}" for folder in FOLDERS for kind in KINDS]
    with tempfile.TemporaryDirectory() as scratch:
        # an index of our own: the user's is not touched
        git = partial(_git, root, GIT_INDEX_FILE=f"{scratch}/index")
        try:
            commit = git("rev-parse", "HEAD").strip()
            git("read-tree", "HEAD")
            kinds = ("--modified", "--deleted", "--others", "--exclude-standard")
            changed = git("ls-files", "-z", *kinds, "--", *code, *FILES)
            git("update-index", "-z", "--add", "--remove", "--stdin", text=changed)
            patch = git("diff", "--cached", "--binary", "HEAD")
        except (OSError, subprocess.CalledProcessError):
            return ""
    return f"commit {commit}\n{patch}"


def _git(root: Path, *words: str, text: str = "", **environment: str) -> str:
    """Return the output of a command of git for a checkout."""
    return subprocess.run(
        ["git", "-C", str(root), *words],
        env={**os.environ, **environment},
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def record(patch: str, folders: Iterable[Path]) -> None:
    """Write the changes into runs' folders; nothing if they are unknown."""
    for folder in folders if patch else ():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / CHANGES, patch)
