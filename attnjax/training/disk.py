"""A full disk, noticed before or while something is saved."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attnjax.errors import MachineError

SPARE = 2**24
"""Bytes that a disk must have free beside what is to be saved."""


def check_space(folder: Path, size: int) -> None:
    """Raise the system's error for a full disk unless `size` bytes and some more are free.

    Orbax's threads would print their tracebacks if the disk became full while they save.
    """
    if shutil.disk_usage(folder).free < size + SPARE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """Turn the errors that a full disk causes into one sentence.

    Raises:
        MachineError: the disk of `folder` is full.
    """
    try:
        yield
    except Exception as error:
        # TensorStore raises a ValueError with the system's words
        if getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error):
            raise MachineError(
                f"the disk of {folder} is full: what was saved before is whole; "
                "make room and repeat the command to go on from there"
            ) from error
        raise
