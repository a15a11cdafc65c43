"""The digest of a checkpoint, which finds flipped bits, cut-off saves and swapped folders."""

import hashlib
import shutil
from pathlib import Path

from attnjax.errors import warn
from attnjax.files import file_digest, flush_all, write_atomically

DIGEST = "digest"  # the file's name, in the checkpoint's folder


def write_digest(folder: Path) -> None:
    """Flush a checkpoint that was just saved, and write its digest."""
    flush_all(folder)
    write_atomically(folder / DIGEST, _of_step(folder.name, _digest(folder)))


def corruption(folder: Path) -> str | None:
    """Describe the damage to a checkpoint's files; None: they are as they were saved."""
    digest = folder / DIGEST
    if not folder.is_dir():
        raise FileNotFoundError(folder)
    if not digest.is_file():
        return f"the checkpoint {folder} has no digest: its save was cut off"
    if digest.read_bytes() != _of_step(folder.name, _digest(folder)).encode():
        return f"the checkpoint {folder} is corrupt: its files are not those that were saved"
    return None


def saved_steps(folder: Path) -> list[int]:
    """Return the steps of the checkpoints in a folder, corrupt ones left out."""
    names = (path.name for path in folder.glob("*"))
    return [int(name) for name in names if name.isascii() and name.isdigit()]


def set_corrupt_aside(folder: Path) -> set[int]:
    """Rename the corrupt checkpoints in a folder, each with a warning; return the whole steps."""
    whole = set[int]()
    for step in sorted(saved_steps(folder), reverse=True):
        damage = corruption(folder / str(step))
        if damage is None:
            whole.add(step)
            continue
        aside = folder / f"{step}.corrupt"
        shutil.rmtree(aside, ignore_errors=True)  # an earlier one of the same step
        (folder / str(step)).rename(aside)
        latest = max(saved_steps(folder), default=None)
        goes_on = f"goes on from step {latest}" if latest else "begins again"
        warn(f"{damage}; it is kept aside as {aside.name}, and training {goes_on}")
    return whole


def _of_step(step: str, files: str) -> str:
    """Return the digest of a step's checkpoint; renamed to another step it does not fit."""
    return hashlib.sha256(f"{step} {files}".encode()).hexdigest()


def _digest(folder: Path) -> str:
    """Return the SHA-256 of the names and contents of all files in a checkpoint's folder."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith(DIGEST):
            total.update(f"{path.relative_to(folder)} {file_digest(path)}\n".encode())
    return total.hexdigest()
