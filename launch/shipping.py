"""What a job needs of this checkout: the experiment file, and a record of uncommitted changes."""

import hashlib
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The checkout."""

CODE = ("attnjax", "launch", "experiments", "pyproject.toml", "constraints.txt")
"""What can change a result. Other files, such as one with keys, are left out."""

PAPERS, SHIPPED = ("README.md", "LICENSE"), "shipped"
"""What an installation wants besides, and where a packed checkout has the experiment file."""

CHANGES = "changes.patch"
"""The name of the record, in a run's folder."""


def copy_for(text: str, name: str, folder: Path) -> Path:
    """Where the copy of an experiment file belongs.

    Each text has a folder of its own: jobs that wait in a queue run the text that was submitted.

    Args:
        text: the text of the experiment file.
        name: the name of the experiment, which the copy keeps.
        folder: the folder of copies.
    """
    return folder / hashlib.sha256(text.encode()).hexdigest()[:12] / f"{name}.py"


def ship(text: str, copy: Path) -> None:
    """Copy an experiment file to where its jobs find it."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text, encoding="utf-8")


def pack(text: str, name: str, archive: Path, root: Path = ROOT) -> Path:
    """Pack the checkout for a machine that has nothing: what `CODE` names, `PAPERS`, `SHIPPED`.

    Args:
        text: the text of the experiment file.
        name: the name of the experiment.
        archive: the .tar.gz to be written.
        root: the checkout.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    ship(text, archive.parent / SHIPPED / f"{name}.py")
    record(changes(root), [archive.parent])
    with tarfile.open(archive, "w:gz") as packed:
        for path in (*CODE, *PAPERS):
            packed.add(root / path, path, filter=_no_caches)
        for path in (SHIPPED, CHANGES):
            if (archive.parent / path).exists():
                packed.add(archive.parent / path, path)
    return archive


def _no_caches(found: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if Path(found.name).name == "__pycache__" else found


def changes(root: Path = ROOT) -> str:
    """The commit of a checkout, and what was changed since, as a patch; new files too.

    "" if the package is not in a checkout of git, or git is missing.
    """
    with tempfile.TemporaryDirectory() as scratch:
        # an index of our own: the user's is not touched
        environment = {**os.environ, "GIT_INDEX_FILE": f"{scratch}/index"}

        def git(*words: str) -> str:
            command = ["git", "-C", str(root), *words]
            return subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            ).stdout

        try:
            commit = git("rev-parse", "HEAD").strip()
            git("read-tree", "HEAD")
            git("add", "--all", "--", *(name for name in CODE if (root / name).exists()))
            patch = git("diff", "--cached", "--binary", "HEAD")
        except (OSError, subprocess.CalledProcessError):
            return ""
    return f"commit {commit}\n{patch}"


def record(patch: str, folders: Iterable[Path]) -> None:
    """Write the changes into runs' folders; nothing if they are unknown."""
    for folder in folders if patch else ():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CHANGES).write_text(patch, encoding="utf-8")
