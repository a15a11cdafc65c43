"""The digest of a checkpoint, which finds flipped bits, cut-off saves and swapped folders."""

import hashlib
from pathlib import Path

from attnjax.files import write_atomically

DIGEST = "digest"
"""The name of the digest's file, in the checkpoint's folder."""


def write_digest(folder: Path) -> None:
    """Write the digest of a checkpoint that was just saved, atomically."""
    write_atomically(folder / DIGEST, _of_step(folder.name, _digest(folder)))


def corruption(folder: Path) -> str | None:
    """The damage to a checkpoint's files, in words; None: they are as they were saved.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    digest = folder / DIGEST
    if not folder.is_dir():
        raise FileNotFoundError(folder)
    if not digest.is_file():
        return f"the checkpoint {folder} has no digest: its save was cut off"
    files = _digest(folder)
    # the digest of an earlier version does not hold the step
    if digest.read_bytes() not in (_of_step(folder.name, files).encode(), files.encode()):
        return f"the checkpoint {folder} is corrupt: its files are not those that were saved"
    return None


def _of_step(step: str, files: str) -> str:
    """The digest of a step's checkpoint: one that is renamed to another step does not have it."""
    return hashlib.sha256(f"{step} {files}".encode()).hexdigest()


def _digest(folder: Path) -> str:
    """The SHA-256 of the names and contents of all files in a checkpoint's folder."""
    found = (
        path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(DIGEST)
    )
    total = hashlib.sha256()
    for path in sorted(found):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder)} {content}\n".encode())
    return total.hexdigest()
