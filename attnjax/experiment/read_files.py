"""Which files a piece of Python reads: an experiment file is executed again if one was changed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

type Times = tuple[int, int, int] | None
"""The size of a file and the times of its last changes; None: it is not there."""

_listening: list[dict[str, Times]] = []


def file_times(path: str) -> Times:
    """Return a file's size and times; None: it is not there, or is no plain file."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) if os.path.isfile(path) else None


@contextmanager
def files_read() -> Iterator[dict[str, Times]]:
    """Yield the files that Python opens for reading within, those of its libraries left out."""
    _listen()
    read: dict[str, Times] = {}
    _listening.append(read)
    try:
        yield read
    finally:
        _listening.remove(read)


@cache
def _listen() -> None:
    """Hear of every opened file from now on: Python has no way to stop it."""
    package = str(Path(__file__).resolve().parents[1])
    places = (sys.prefix, sys.base_prefix, package, "/proc/", "/dev/", "/sys/")

    def heard(event: str, given: tuple[Any, ...]) -> None:
        if event != "open" or not _listening:
            return
        name, _, flags = given
        if not isinstance(name, str | bytes) or flags & (os.O_WRONLY | os.O_RDWR):
            return
        path = os.path.abspath(os.fsdecode(name))
        if not path.startswith(places) and Path(path).suffix != ".pyc":
            for read in _listening:
                read.setdefault(path, file_times(path))

    sys.addaudithook(heard)
