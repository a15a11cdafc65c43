"""A file system that fails in mid-run: full, no longer writable, or gone."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from attnjax.errors import MachineError, UserError, message


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Turn the errors that a failing file system causes into one sentence, a MachineError.

    Libraries report such errors in words and classes of their own. So whatever was raised, the
    folder is tried: if nothing can be written there, that is the error. An error of the system that
    names a file below the folder is one, too.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        # TensorStore raises a ValueError with the system's words
        if getattr(error, "errno", None) == errno.ENOSPC or "No space left" in message(error):
            raise MachineError(
                f"the disk of {folder} is full: what was saved before is whole; "
                "make room and repeat the command to go on from there"
            ) from error
        if trouble := _named(error, folder) or _trouble(folder):
            raise MachineError(
                f"the folder {folder} cannot be written to ({trouble}): what was saved before is "
                "whole; mend that and repeat the command to go on from there"
            ) from error
        raise


def _named(error: Exception, folder: Path) -> str | None:
    """Return the system's message about a file below a folder; None: it names no such file."""
    # a library may have made the folder again, after it was gone
    if not isinstance(error, OSError) or error.filename is None:
        return None
    return error.strerror if folder in Path(os.fsdecode(error.filename)).parents else None


def _trouble(folder: Path) -> str | None:
    """Write a file into a folder as a test; return the system's error message, or None."""
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(2**12))
            file.flush()
    except OSError as error:
        return error.strerror or str(error)
    return None
