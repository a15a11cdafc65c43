"""Finding data files, and reading their text."""

import difflib
import glob
import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from attnjax.errors import NoCorpus, UserError

DATA_VARIABLE = "ATTNJAX_DATA"

type Encoding = Literal["UTF-8", "Windows-1252"]
CODECS = {"UTF-8": "utf-8-sig", "Windows-1252": "cp1252"}
SHARD = re.compile(r"-(\d{5})-of-(\d{5})(?:\.gz)?$")


def find_folder(folder: str) -> Path:
    """A folder as it is given, or else under the folder that ATTNJAX_DATA names.

    Raises:
        NoCorpus: there is no such folder in either place.
    """
    return _find(folder, "folder", Path.is_dir)


def find_file(file: str | Path) -> Path:
    """A file, or what its path stands for (see `parts`), found and refused as by `find_folder`."""
    return _find(file, "file", _stands_for_files)


def find_file_or_pipe(file: str | Path) -> Path:
    """A file as by `find_file`, or a pipe, whose lines are read once: `<(head FILE)`."""
    return _find(file, "file", lambda path: _comes_once(path) or _stands_for_files(path))


def _stands_for_files(path: Path) -> bool:
    name = path.name if "*" in path.name else glob.escape(path.name)
    return path.is_file() or any(
        beside.is_file()
        for end in ("", ".gz", "-*-of-*")
        for beside in path.parent.glob(name + end)
    )


def _comes_once(path: Path) -> bool:
    """Whether a path is a pipe or a device, which cannot be read again."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _find(path: str | Path, kind: str, exists: Callable[[Path], bool]) -> Path:
    try:
        given, above = Path(path).expanduser(), os.environ.get(DATA_VARIABLE)
        places = [given, Path(above, given)] if above else [given]
        for place in map(Path.expanduser, places):
            if exists(place):
                return place
        here, once = Path.cwd(), [*filter(_comes_once, places)]
    except (OSError, RuntimeError, ValueError) as error:
        # a name that is too long, an unknown ~user, a NUL character
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{str(path)[:80]!r} is not a usable path: {reason}") from error
    if once and kind == "file":
        raise _no_regular_file(once[0])
    if given.is_absolute():
        where = ""
    elif above:
        where = f" in {here}, nor one under {DATA_VARIABLE}={above}"
    else:
        where = (
            f" in {here}, and the environment variable {DATA_VARIABLE}, which may name the folder "
            "that holds it, is not set"
        )
    near = (_beside(here / place.expanduser()) for place in places if kind == "file")
    raise NoCorpus(f"there is no {kind} {given}{where}{next(filter(None, near), '')}")


def _no_regular_file(path: Path) -> UserError:
    return UserError(
        f"{path} is a pipe or a device, which can be read only once; wanted a regular file"
    )


def _beside(missing: Path) -> str:
    """The names in the folder of a missing file, in words, the most similar first."""
    if not missing.parent.is_dir():
        return ""
    names = [path.name for path in missing.parent.iterdir() if not path.name.startswith(".")]
    near = difflib.get_close_matches(missing.name, names, n=8, cutoff=0)
    more = f" and {len(names) - len(near)} more" if len(names) > len(near) else ""
    return f"; {missing.parent} has {', '.join(near) or 'no file'}{more}"


def parts(path: Path) -> list[Path]:
    """The files that a name stands for: `train.en`, `train.en.gz`, or its shards in their order.

    Shards are named `train.en-00000-of-00003`, with `.gz` behind if they are compressed. A name
    with an asterisk, `books/*.txt`, stands for all files that it fits, in the order of their names.
    """
    for whole in (path, path.with_name(f"{path.name}.gz")):
        if whole.is_file():
            return [whole]
    if "*" in path.name and (files := sorted(path.parent.glob(path.name))):
        return files
    shards = {
        (int(match[1]), int(match[2])): shard
        for shard in path.parent.glob(f"{glob.escape(path.name)}-*-of-*")
        if (match := SHARD.search(shard.name))
    }
    if _comes_once(path):
        raise _no_regular_file(path)
    if not shards:
        raise UserError(
            f"there is no file {path}, {path.name}.gz or {path.name}-00000-of-...{_beside(path)}"
        )
    count = max(count for _, count in shards)
    missing = [number for number in range(count) if (number, count) not in shards]
    if missing or len(shards) != count:
        raise UserError(
            f"{path} has {len(shards):,} shards where their names say {count:,}"
            + (f"; shard {missing[0]:05d} is missing" if missing else "")
        )
    return [shards[number, count] for number in range(count)]


def read_text(path: Path, encoding: Encoding = "UTF-8") -> str:
    """The text of a file, without a byte order mark; or of all its `parts`, one behind the other.

    Raises:
        UserError: the file or a part is missing or damaged, is not in this encoding, or all is
            empty.
    """
    texts = []
    for part in parts(path):
        with _opened(part) as file:
            texts.append(_decode(file.read(), part, encoding))
    # a line ends where its shard ends
    texts[:-1] = [text if text.endswith("\n") else f"{text}\n" for text in texts[:-1]]
    text = "".join(texts)
    if not text.strip():
        raise UserError(f"{path} is empty")
    return text


def each_line(path: Path, encoding: Encoding = "UTF-8") -> Iterator[str]:
    r"""The lines of a file, of its `parts` or of a pipe, one by one; "\n" and "\r\n" end a line.

    Raises:
        UserError: as `read_text`, once the line is read.
    """
    blank = True
    for part in [path] if _comes_once(path) else parts(path):
        with _opened(part) as file:
            # not str.splitlines: it also splits at characters that occur within a line of a corpus
            for number, line in enumerate(file, start=1):
                text = _decode(line, part, encoding, number).removesuffix("\n").removesuffix("\r")
                blank = blank and not text.strip()
                yield text
    if blank:
        raise UserError(f"{path} is empty")


def read_lines(path: Path, encoding: Encoding = "UTF-8") -> list[str]:
    """All of `each_line`."""
    return [*each_line(path, encoding)]


def parse_lines[T](
    path: Path, parse: Callable[[str], T], encoding: Encoding = "UTF-8"
) -> Iterator[T]:
    """What a function makes of `each_line`; its ValueError's message follows "PATH, line 3, "."""
    for number, line in enumerate(each_line(path, encoding), start=1):
        try:
            yield parse(line)
        except ValueError as error:
            raise UserError(f"{path}, line {number}, {error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO | gzip.GzipFile]:
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path} is damaged or ends too early: {error}") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


def _decode(content: bytes, path: Path, encoding: Encoding, line: int = 1) -> str:
    """The text of bytes that begin at this line of a file."""
    codec = CODECS[encoding]
    try:
        return content.decode(codec if line == 1 else codec.removesuffix("-sig"))
    except UnicodeDecodeError as error:
        # error.start counts from behind the byte order mark that "utf-8-sig" takes away
        before = error.object[: error.start]
        raise UserError(
            f"{path}, line {line + before.count(b'\n')}, is not {encoding}: it has the byte "
            f"0x{error.object[error.start]:02x} ({error.reason}); a task with the field `encoding` "
            f"can read {' or '.join(CODECS.keys() - {encoding})}"
        ) from error
