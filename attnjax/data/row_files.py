"""Rows in files that grow while they are written, and are memory-mapped to be read."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.data.examples import Rows
from attnjax.errors import UserError
from attnjax.files import file_digest


@dataclass(frozen=True)
class RowFile:
    """Rows of one type in a file that grows; a second file, int64, has the offsets of the rows.

    Attributes:
        limit: every number in the rows is below it.
    """

    path: Path
    dtype: np.dtype
    limit: int = 256
    _hashes: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def offsets(self) -> Path:
        """The file of the offsets, one more than rows."""
        return self.path.with_name(f"{self.path.name}.offsets")

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of what was kept and appended, by the names of both files."""
        return {name: content.hexdigest() for name, content in self._hashes.items()}

    def keep(self, count: int, digests: Mapping[str, str]) -> None:
        """Truncate both files to the first `count` rows, when they had these digests.

        What a killed process wrote after these rows is lost.
        """
        with _named(self.path):
            if not count:
                self.path.write_bytes(b"")
                self.offsets.write_bytes(bytes(8))
            else:
                self._cut(count)
            for path in (self.path, self.offsets):
                with path.open("rb") as file:
                    self._hashes[path.name] = hashlib.file_digest(file, "sha256")
        for name, digest in self.digests.items():
            if count and digests.get(name) != digest:
                raise damaged(self.path.with_name(name))

    def _cut(self, count: int) -> None:
        if not (self.path.is_file() and self.offsets.is_file()):
            raise damaged(self.path)
        end = np.fromfile(self.offsets, np.int64, 1, offset=8 * count)
        size = int(end[0]) * self.dtype.itemsize if len(end) else -1
        if not 0 <= size <= self.path.stat().st_size:
            raise damaged(self.path)
        os.truncate(self.path, size)
        os.truncate(self.offsets, 8 * (count + 1))

    def append(self, rows: Rows) -> None:
        """Append rows, which lie one after the other from offset 0 on."""
        with _named(self.path):
            before = self.path.stat().st_size // self.dtype.itemsize
            values, stops = rows.values.astype(self.dtype), (rows.stops + before).astype(np.int64)
            for path, content in ((self.path, values), (self.offsets, stops)):
                with path.open("ab") as file:
                    file.write(content.data)
                self._hashes[path.name].update(content.data)

    def rows(self, count: int) -> Rows:
        """Return the first `count` rows, memory-mapped."""
        offsets, values = _mapped(self.offsets, np.dtype(np.int64)), _mapped(self.path, self.dtype)
        if len(offsets) != count + 1 or offsets[-1] != len(values):
            raise damaged(self.path)
        return Rows.cut(values, offsets)

    def check(self, count: int, digests: Mapping[str, str]) -> None:
        """Refuse files with other digests, offsets that do not ascend, and numbers too large.

        Both files are read completely.
        """
        for path in (self.path, self.offsets):
            try:
                if file_digest(path) != digests.get(path.name):
                    raise damaged(path)
            except OSError as error:
                raise damaged(path) from error
        rows = self.rows(count)
        ascend = bool((rows.stops >= rows.starts).all()) and not (count and rows.starts[0])
        if not ascend or rows.values.max(initial=0) >= self.limit:
            raise damaged(self.path)


def _mapped(path: Path, dtype: np.dtype) -> np.ndarray:
    try:
        if not path.stat().st_size:
            return np.empty(0, dtype)  # an empty file cannot be mapped
        return np.asarray(np.memmap(path, dtype, "r"))
    except (OSError, ValueError) as error:
        raise damaged(path) from error


def damaged(path: Path) -> UserError:
    """Return the error for a file of a prepared corpus that is not as it was written."""
    return UserError(f"{path} is damaged: delete the folder {path.parent}, and it is prepared anew")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the file's name to a system error: that of a full disk has none."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@dataclass(frozen=True, eq=False)
class MappedTexts(Sequence[str]):
    """Texts in a memory-mapped UTF-8 file; a text is decoded when it is read.

    Attributes:
        rows: bytes, a row for each text.
        of_split: the digest of the split whose sources or references these are; "": unknown.
    """

    rows: Rows
    of_split: str = ""

    @classmethod
    def rows_of(cls, texts: Sequence[str]) -> Rows:
        """Encode texts as rows, one after the other in memory."""
        encoded = [text.encode() for text in texts]
        offsets = np.cumsum([0, *map(len, encoded)])
        return Rows.cut(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        row = self.rows.values[self.rows.starts[index] : self.rows.stops[index]]
        return row.tobytes().decode()
