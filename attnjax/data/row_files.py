"""Rows in files that grow, and are mapped into memory to be read."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.data.examples import Rows
from attnjax.errors import UserError


@dataclass(frozen=True)
class RowFile:
    """Rows of one type in a file that grows; a second file, int64, says where each row begins."""

    path: Path
    dtype: np.dtype

    @property
    def offsets(self) -> Path:
        """The file of the offsets, one more than rows."""
        return self.path.with_name(f"{self.path.name}.offsets")

    def keep(self, count: int) -> None:
        """Cut it after its first rows: what a killed process left behind them is gone."""
        with _named(self.path):
            if not count:
                self.path.write_bytes(b"")
                self.offsets.write_bytes(bytes(8))
                return
            known = self.offsets.exists()
            end = np.fromfile(self.offsets, np.int64, 1, offset=8 * count) if known else []
            size = int(end[0]) * self.dtype.itemsize if len(end) else 0
            if not len(end) or self.path.stat().st_size < size:
                raise _damaged(self.path)
            os.truncate(self.path, size)
            os.truncate(self.offsets, 8 * (count + 1))

    def append(self, rows: Rows) -> None:
        """Write rows, which lie one behind the other from 0 on, at its end."""
        with _named(self.path), self.path.open("ab") as file, self.offsets.open("ab") as offsets:
            before = file.tell() // self.dtype.itemsize
            file.write(rows.values.astype(self.dtype).data)
            offsets.write((rows.stops + before).astype(np.int64).data)

    def rows(self, count: int) -> Rows:
        """Its rows, so many; one is read from disk when it is used."""
        offsets, values = _mapped(self.offsets, np.dtype(np.int64)), _mapped(self.path, self.dtype)
        if len(offsets) != count + 1 or offsets[-1] != len(values):
            raise _damaged(self.path)
        return Rows.cut(values, offsets)


def sync(path: Path) -> None:
    """Return when what was written to a file is on the disk."""
    with _named(path), path.open("rb+") as file:
        os.fsync(file.fileno())


def _mapped(path: Path, dtype: np.dtype) -> np.ndarray:
    try:
        if not path.stat().st_size:
            return np.empty(0, dtype)  # an empty file cannot be mapped
        return np.asarray(np.memmap(path, dtype, "r"))
    except (OSError, ValueError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> UserError:
    return UserError(f"{path} is damaged: delete the folder {path.parent}, and it is prepared anew")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let an error of the system name the file: a full disk names none."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@dataclass(frozen=True, eq=False)
class MappedTexts(Sequence[str]):
    """Texts whose UTF-8 lies in a mapped file; a text is made when it is read."""

    rows: Rows  # bytes, a row a text

    @classmethod
    def rows_of(cls, texts: Sequence[str]) -> Rows:
        """The rows of texts, one behind the other in memory."""
        encoded = [text.encode() for text in texts]
        offsets = np.cumsum([0, *map(len, encoded)])
        return Rows.cut(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        row = self.rows.values[self.rows.starts[index] : self.rows.stops[index]]
        return row.tobytes().decode()
