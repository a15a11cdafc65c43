"""Finding data files, and reading their text."""

import codecs
import difflib
import glob
import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal

from attnjax.errors import NoCorpus, UserError, unknown

DATA_VARIABLE = "ATTNJAX_DATA"

type Encoding = Literal["UTF-8", "UTF-16", "Windows-1252"]
MOST_ACCENTS = 0.3
"""The largest share of letters outside ASCII that a text in Windows-1252 may begin with."""
CODECS = {"UTF-8": "utf-8-sig", "UTF-16": "utf-16", "Windows-1252": "cp1252"}

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # it begins with the mark of UTF-16, so it comes first
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""The codec of a file that begins with a byte order mark."""

UNMARKED = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
"""The codecs of a file in which a character is several bytes, without a byte order mark."""

BLOCK = 1 << 22
"""The bytes of a file that are decoded at once."""

BEGINNING = 1 << 16
"""The bytes of a file that tell whether a character is several bytes."""

SHARD = re.compile(r"-(\d{5})-of-(\d{5})(?:\.gz)?$")


def find_folder(folder: str) -> Path:
    """Find a folder as it is given, or else under the folder that ATTNJAX_DATA names.

    Raises:
        NoCorpus: there is no such folder in either place.
    """
    return _find(folder, "folder", Path.is_dir)


def find_file(file: str | Path) -> Path:
    """Find a file, or what its path stands for (see `parts`), as `find_folder` finds a folder."""
    return _find(file, "file", _stands_for_files)


def find_file_or_pipe(file: str | Path) -> Path:
    """Find a file as `find_file`, or a pipe, whose lines are read once: `<(head FILE)`."""
    return _find(file, "file", lambda path: _comes_once(path) or _stands_for_files(path))


def _stands_for_files(path: Path) -> bool:
    return path.is_file() or any(
        beside.is_file()
        for end in ("", ".gz", "-*-of-*")
        for beside in path.parent.glob(_pattern(path) + end)
    )


def _pattern(path: Path) -> str:
    """Return the glob pattern of a file's name, in which only an asterisk is special."""
    return glob.escape(path.name).replace("[*]", "*")


def _comes_once(path: Path) -> bool:
    """Return whether a path is a pipe or a device, which cannot be read again."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _find(path: str | Path, kind: str, exists: Callable[[Path], bool]) -> Path:
    try:
        given, above = Path(path).expanduser(), os.environ.get(DATA_VARIABLE)
        candidates = [given, Path(above, given)] if above else [given]
        for candidate in map(Path.expanduser, candidates):
            if exists(candidate):
                return candidate
        here, once = Path.cwd(), [*filter(_comes_once, candidates)]
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
    near = (_beside(here / path.expanduser()) for path in candidates if kind == "file")
    raise NoCorpus(f"there is no {kind} {given}{where}{next(filter(None, near), '')}")


def _no_regular_file(path: Path) -> UserError:
    return UserError(
        f"{path} is a pipe or a device, which can be read only once; wanted a regular file"
    )


def _beside(missing: Path) -> str:
    """Describe the contents of a missing file's folder, the most similar names first."""
    if not missing.parent.is_dir():
        return ""
    names = [path.name for path in missing.parent.iterdir() if not path.name.startswith(".")]
    near = difflib.get_close_matches(missing.name, names, n=8, cutoff=0)
    more = f" and {len(names) - len(near)} more" if len(names) > len(near) else ""
    return f"; {missing.parent} has {', '.join(near) or 'no file'}{more}"


def parts(path: Path) -> list[Path]:
    """Return the files that a name stands for: `train.en`, `train.en.gz`, or its shards in order.

    Shards are named `train.en-00000-of-00003`, followed by `.gz` if they are compressed. A name
    with an asterisk, `books/*.txt`, stands for all files that match it, in the order of their
    names.
    """
    for whole in (path, path.with_name(f"{path.name}.gz")):
        if whole.is_file():
            return [whole]
    if "*" in path.name and (files := sorted(path.parent.glob(_pattern(path)))):
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
    """Read the text of a file, without a byte order mark; or of all its `parts`, concatenated.

    Raises:
        UserError: the file or a part is missing or damaged, is not in this encoding, or all is
            empty.
    """
    texts = ["".join(_decoded(part, encoding)) for part in parts(path)]
    # a line ends where its shard ends
    texts[:-1] = [text if text.endswith("\n") else f"{text}\n" for text in texts[:-1]]
    text = "".join(texts)
    if not text.strip():
        raise UserError(f"{path} is empty")
    return text


def each_line(path: Path, encoding: Encoding = "UTF-8") -> Iterator[str]:
    r"""Yield the lines of a file, of its `parts` or of a pipe; "\n" and "\r\n" end a line.

    Raises:
        UserError: as `read_text`, once the line is read.
    """
    blank = True
    for part in [path] if _comes_once(path) else parts(path):
        for line in _lines(part, encoding):
            text = line.removesuffix("\r")
            blank = blank and not text.strip()
            yield text
    if blank:
        raise UserError(f"{path} is empty")


def read_lines(path: Path, encoding: Encoding = "UTF-8") -> list[str]:
    """Read all lines, as `each_line` yields them."""
    return [*each_line(path, encoding)]


def parse_lines[T](
    path: Path, parse: Callable[[str], T], encoding: Encoding = "UTF-8"
) -> Iterator[T]:
    """Parse `each_line` by a function; its ValueError's message follows "PATH, line 3, "."""
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


def _lines(path: Path, encoding: Encoding) -> Iterator[str]:
    """Yield the lines of one file, without the line feeds that end them."""
    # not str.splitlines: it also splits at characters that occur within a line of a corpus
    rest, ended = "", False
    for text in _decoded(path, encoding):
        *lines, last = text.split("\n")
        if lines:
            yield rest + lines[0]
            yield from lines[1:]
            rest, ended = "", True
        rest += last
    if not ended and "\r" in rest.rstrip("\r"):
        raise UserError(
            f"{path} has carriage returns (0x0d) for line ends and no line feed (0x0a): save it "
            "with line ends of Linux or Windows"
        )
    if rest:
        yield rest


def _decoded(path: Path, encoding: Encoding) -> Iterator[str]:
    """Yield the text of one file, block by block."""
    line = 1
    with _opened(path) as file:
        first = file.read(BLOCK)
        decoder = codecs.getincrementaldecoder(_codec(first, path, encoding))()
        for block in chain([first], iter(partial(file.read, BLOCK), b""), [b""]):
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(error.encoding, "replace")
                raise UserError(
                    f"{path}, line {line + before.count('\n')}, is not {encoding}: it has the byte "
                    f"0x{error.object[error.start]:02x} ({error.reason}){_others(encoding)}"
                ) from error
            line += text.count("\n")
            yield text


def _codec(content: bytes, path: Path, encoding: Encoding) -> str:
    """Return the codec of a file that begins with these bytes; refuse another encoding."""
    if encoding not in CODECS:
        raise unknown("encoding", encoding, CODECS)
    codec = _recognized(content)
    if codec is None:
        if content and encoding == "UTF-16":
            raise UserError(f"{path} is not UTF-16: it has no byte order mark{_others(encoding)}")
        others = sum(byte >= 0x80 for byte in content[:BEGINNING])
        if encoding == "Windows-1252" and others > MOST_ACCENTS * len(content[:BEGINNING]):
            raise UserError(
                f"{path} is not Windows-1252: {100 * others // len(content[:BEGINNING])} % of its "
                "bytes would be accented letters and signs; save it as UTF-8"
            )
        return CODECS[encoding]
    actual = codec.removesuffix("-sig").removesuffix("-le").removesuffix("-be").upper()
    if actual not in CODECS:
        raise UserError(f"{path} is {actual}, which is not read: save it as UTF-8")
    if actual != encoding:
        raise UserError(f"{path} is {actual}, not {encoding}{_others(encoding)}")
    return codec


def _recognized(content: bytes) -> str | None:
    """Return the codec of a file that begins with these bytes, if they reveal it; ASCII does not.

    Nor does Windows-1252, since the bytes of most other encodings are letters in it.
    """
    for mark, codec in MARKS.items():
        if content.startswith(mark):
            return codec
    some = content[:BEGINNING]
    for codec in UNMARKED:
        text = some.decode(codec, "ignore")
        # most bytes that would be a line feed, or a space, are one in this encoding
        if any(2 * text.count(mark) > some.count(mark.encode()) for mark in "\n "):
            return codec
    with suppress(UnicodeDecodeError):
        if not content.isascii():
            codecs.getincrementaldecoder("utf-8")().decode(content)
            return "utf-8"
    return None


def _others(encoding: Encoding) -> str:
    others = " or ".join(name for name in CODECS if name != encoding)
    return f"; a task with the field `encoding` can read {others}"
