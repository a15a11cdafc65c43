"""A file that an option names: refused before a long computation, and written at its end."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from attnjax.errors import UserError
from attnjax.files import write_atomically


def check_named(path: Path) -> None:
    """Raise a UserError if a path cannot be written: a folder, or in no existing folder."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; wanted a file to write")
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent} for the file {path.name}")


def write_named(path: Path, text: str) -> None:
    """Write a text in UTF-8: a file is replaced as a whole, a pipe or a device is written to.

    Standard output and error by another name, such as /dev/stdout, are written at their current
    position: a shell may have opened them as a file.
    """
    opened = _opened(path)
    if opened is None and (path.is_file() or not path.exists()):
        write_atomically(path, text)
        return
    if sys.stdout is not None:
        sys.stdout.flush()
    try:
        with open(path if opened is None else os.dup(opened), "w", encoding="utf-8") as file:
            file.write(text)
    except BrokenPipeError as error:
        raise UserError(f"{path} was not written to its end: its reader has closed it") from error


def _opened(path: Path) -> int | None:
    """Return 1 or 2 if a path is a name of standard output or error, else None."""
    for number in (1, 2):
        with suppress(OSError):  # there is no such file, or the descriptor is closed
            if os.path.samestat(path.stat(), os.fstat(number)):
                return number
    return None
