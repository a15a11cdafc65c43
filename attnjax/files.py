"""Files and folders that are written whole or not at all."""

import errno
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def replacing(path: Path, *, mode: int = 0o666) -> Iterator[Path]:
    """Yield an empty file beside `path` that replaces it when the block ends without an error.

    A reader sees the old file or the new one, even when two processes write at once, and after a
    loss of power: the content is on the disk before the name is. A symbolic link at `path` is
    replaced; the file that it points to stays as it is. After an error nothing is left beside
    `path`; what a process that was killed left there goes with the next writing.

    Args:
        path: the file.
        mode: the file's permissions before the umask.
    """
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        yield beside
        flush(beside)
        beside.replace(path)
        flush(path.parent)
        _remove_halves(path)
    except OSError as error:
        if error.filename is None or Path(error.filename) == beside:  # a full disk names no file
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):  # the first error is the one to say
            beside.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk.

    A loss of power empties or halves what is not, though its name may be there.
    """
    try:
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
    except OSError as error:
        # some file systems flush no folders, and a folder that is written to may forbid reading
        if not path.is_dir() or error.errno not in (errno.EINVAL, errno.EACCES):
            raise OSError(error.errno, error.strerror, str(path)) from error


def flush_all(folder: Path) -> None:
    """Wait until all files below a folder, and their names, are on the disk."""
    for path in (*folder.rglob("*"), folder):
        if not path.is_symlink():
            flush(path)


STALE = 3600.0
"""The seconds without a change after which a half-written file belongs to no living process."""


def _remove_halves(path: Path) -> None:
    """Remove the half-written files beside `path` whose process was killed."""
    half = re.compile(re.escape(path.name) + r"\.[0-9a-f]{8}\.tmp")
    with suppress(OSError):  # the file itself is written: a folder may be shared, and change
        for name in filter(half.fullmatch, os.listdir(path.parent)):
            beside = path.with_name(name)
            if not beside.is_dir() and _is_stale(beside):
                beside.unlink(missing_ok=True)


def _is_stale(path: Path) -> bool:
    """Return whether nothing at or below a path was changed for long."""
    times = (below.lstat().st_mtime for below in (path, *path.rglob("*")))
    return max(times) < time.time() - STALE


def write_atomically(path: Path, content: bytes | str, *, mode: int = 0o666) -> None:
    """Write a file as a whole, a text in UTF-8; see `replacing`."""
    with replacing(path, mode=mode) as beside:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)


def in_a_line(text: str) -> str:
    """Return a text as one line of a file, so that later lines keep their number.

    A line break becomes a space.

    A line ends at a line feed, a carriage return or both, as for readers of text files.
    """
    return re.sub(r"\r\n|\r|\n", " ", text)


def plain_file(path: Path) -> Path:
    """Return the path of a file that is to be read; nothing need be there.

    Raises:
        OSError: a folder, a pipe or a device is there; reading it could block for ever.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is damaged: it is not a file", str(path))
    return path


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_size(folder: Path) -> int:
    """Return the size in bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder that is renamed to `path` when the block ends without an error.

    Args:
        path: the folder, which must not exist; the folder above it must.
    """
    with suppress(OSError):
        for left in path.parent.glob(".new-*"):  # by a process that was killed
            if left.is_dir() and not left.is_symlink() and _is_stale(left):
                shutil.rmtree(left, ignore_errors=True)
    with TemporaryDirectory(dir=path.parent, prefix=".new-") as above:
        beside = Path(above) / "new"
        beside.mkdir()  # with the permissions of the umask, which a temporary folder has not
        yield beside
        flush_all(beside)
        beside.rename(path)
        flush(path.parent)
