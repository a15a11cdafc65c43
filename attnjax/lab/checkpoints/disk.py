"""A file system that fails in mid-run: full, no longer writable, or gone."""

import errno
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType

from attnjax.errors import MachineError, UserError


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
        if any(map(_is_full, _causes(error))):
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


@contextmanager
def told_once() -> Iterator[None]:
    """Let Orbax and TensorStore print nothing of an error that they raise out of the block.

    Orbax logs it with a traceback for each thread. TensorStore's threads go on after it, and each
    of them tells an event loop that is closed by then, perhaps after the block.
    """
    absl, before = logging.getLogger("absl"), sys.excepthook
    level = absl.level
    absl.setLevel(logging.CRITICAL)
    try:
        yield
    except Exception:
        sys.excepthook = partial(_but_closed_loops, before)
        raise
    finally:
        absl.setLevel(level)


def _but_closed_loops(
    hook: Callable[..., object],
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    """Print an error by another hook, except that of an event loop that is closed."""
    if not isinstance(error, RuntimeError) or str(error) != "Event loop is closed":
        hook(kind, error, trace)


def _is_full(error: BaseException) -> bool:
    """Return whether an error is that of a full disk."""
    # TensorStore raises a ValueError with the system's words
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    return full or os.strerror(errno.ENOSPC) in str(error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and all that it came of: a library may raise others after it, or groups."""
    left, seen = [error], set[int]()
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            several = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
            left += [other for other in (one.__cause__, one.__context__, *several) if other]


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
