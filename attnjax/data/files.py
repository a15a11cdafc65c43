"""Finding data files, and reading their text."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from attnjax.errors import NoCorpus, UserError

DATA_VARIABLE = "ATTNJAX_DATA"

type Encoding = Literal["UTF-8", "Windows-1252"]
CODECS = {"UTF-8": "utf-8-sig", "Windows-1252": "cp1252"}


def find_folder(folder: str) -> Path:
    """A folder as it is given, or else under the folder that ATTNJAX_DATA names.

    Raises:
        NoCorpus: there is no such folder in either place.
    """
    return _find(folder, "folder", Path.is_dir)


def find_file(file: str | Path) -> Path:
    """A file as it is given, or else under the folder that ATTNJAX_DATA names.

    Raises:
        NoCorpus: there is no such file in either place.
    """
    return _find(file, "file", Path.is_file)


def _find(path: str | Path, kind: str, exists: Callable[[Path], bool]) -> Path:
    try:
        given = Path(path).expanduser()
        if exists(given):
            return given
        above = os.environ.get(DATA_VARIABLE)
        if above and exists(below := Path(above).expanduser() / given):
            return below
        here = Path.cwd()
    except (OSError, RuntimeError, ValueError) as error:
        # a name that is too long, an unknown ~user, a NUL character
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{str(path)[:80]!r} is not a usable path: {reason}") from error
    if given.is_absolute():
        raise NoCorpus(f"there is no {kind} {given}")
    if not above:
        raise NoCorpus(
            f"there is no {kind} {given} in {here}, and the environment variable {DATA_VARIABLE}, "
            f"which may name the folder that holds it, is not set"
        )
    raise NoCorpus(f"there is no {kind} {given} in {here}, nor one under {DATA_VARIABLE}={above}")


def read_text(path: Path, encoding: Encoding = "UTF-8") -> str:
    """The text of a file, without a byte order mark.

    Raises:
        UserError: the file is missing, is not in this encoding, or is empty.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise UserError(f"there is no file {path}") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    try:
        text = content.decode(CODECS[encoding])
    except UnicodeDecodeError as error:
        # error.start counts from behind the byte order mark that "utf-8-sig" takes away
        before = error.object[: error.start]
        raise UserError(
            f"{path}, line {before.count(b'\n') + 1}, is not {encoding}: it has the byte "
            f"0x{error.object[error.start]:02x} ({error.reason})"
        ) from error
    if not text.strip():
        raise UserError(f"{path} is empty")
    return text


def read_lines(path: Path, encoding: Encoding = "UTF-8") -> list[str]:
    r"""The lines of a file; only "\n" and "\r\n" end a line.

    Raises:
        UserError: as `read_text`.
    """
    text = read_text(path, encoding)
    # not str.splitlines: it also splits at characters that occur within a line of a corpus
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
