"""Which code of a run is executed unasked: code that the user has in a file of their own.

An experiment file is a program, and a run's folder holds a copy of it. One that somebody else hands
over is executed only if the user says so.
"""

from hashlib import sha256
from pathlib import Path


def shipped_folder() -> Path:
    """Return the folder of the shipped experiments, in an installed package or in a checkout."""
    package = Path(__file__).resolve().parents[2]
    inside = package / "experiments"
    return inside if inside.is_dir() else package.parent / "experiments"


def shipped_file(name: str) -> Path | None:
    """Return the file of the shipped experiment of a name; None: there is none."""
    path = shipped_folder() / f"{name}.py"
    return path if name.isidentifier() and path.is_file() else None


def file_of_text(run: Path, digest: str, *, name: str, path: str) -> Path | None:
    """Return the file whose text has this digest, that of a run's file; None: there is none.

    It is the shipped experiment of the run's `name`, or the file at `path`, from which the run's
    record says that it was made. That one counts only where it is outside of the folders of the
    run, of its variant and of its experiment, which somebody may have handed over, and where no
    part of the path is a symbolic link.
    """
    shipped, recorded, resolved = shipped_file(name), Path(path), run.resolve()
    if shipped is not None and _text_digest(shipped) == digest:
        return shipped
    try:
        plain = recorded.is_file() and recorded.is_absolute() and recorded.resolve() == recorded
        if not plain or any(map(recorded.is_relative_to, (resolved, *resolved.parents[:2]))):
            return None
        return recorded if _text_digest(recorded) == digest else None
    except (OSError, ValueError):  # what a record says may be no path at all
        return None


def _text_digest(path: Path) -> str:
    """Return the SHA-256 of a text, as `experiment.load.load` reads it."""
    return sha256(path.read_text(encoding="utf-8-sig").encode()).hexdigest()
