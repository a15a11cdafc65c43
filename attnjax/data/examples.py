"""Encoded examples as flat arrays, one for each side, in memory or mapped from files."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, overload

import numpy as np

from attnjax.data.special_tokens import PAD

type Origins = tuple[frozenset[int], ...]
"""For each target token the positions of the source tokens that it comes from."""


class Encoded(NamedTuple):
    """An encoded example, the input of a model: ids of text, or arrays of numbers.

    Attributes:
        source: ids that end with END, or an array of floats (an image, points).
        target: ids that end with END, an array of floats, or a label: one id without END.
            Of a window of raw text neither side ends with END, see `RawText`. Of labels at some
            places of the source integers [K, 2], see `LabeledPlaces`.
        alignment: as `Example.alignment`, with an empty set for the target's END.
    """

    source: list[int] | np.ndarray
    target: list[int] | np.ndarray
    alignment: Origins | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of different lengths in one array; they may overlap, and be in any order."""

    values: np.ndarray  # [V, ...], integers (ids) or floats; may be mapped from a file
    starts: np.ndarray  # [N], the index in `values` of the first element of each row
    stops: np.ndarray  # [N], the index after the last one

    @classmethod
    def cut(cls, values: np.ndarray, offsets: np.ndarray) -> "Rows":
        """Return the rows between N + 1 offsets; nothing is copied."""
        return cls(values, offsets[:-1], offsets[1:])

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> list[int] | np.ndarray:
        """Return a row: a list of ids, or an array of floats or of tuples of ids."""
        row = self.values[self.starts[index] : self.stops[index]]
        return row.tolist() if self.are_ids and row.ndim == 1 else row

    @property
    def are_ids(self) -> bool:
        """Whether the rows are ids, or tuples of ids, not floats."""
        return self.values.dtype.kind in "iu"

    @property
    def lengths(self) -> np.ndarray:
        """[N], the length of each row, int32: there may be millions."""
        return (self.stops - self.starts).astype(np.int32)

    def select(self, chosen: slice | np.ndarray) -> "Rows":
        """Return some of the rows; the values are shared."""
        return Rows(self.values, self.starts[chosen], self.stops[chosen])

    def head(self, length: int) -> "Rows":
        """Return the first elements of each row, at most `length`."""
        return replace(self, stops=np.minimum(self.stops, self.starts + length))

    def padded(self, chosen: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        """Pad chosen rows, and rows of padding after them, to [*shape, ...] with PAD or NaN."""
        kind, filler = (np.int32, PAD) if self.are_ids else (np.float32, np.nan)
        result = np.full((*shape, *self.values.shape[1:]), filler, kind)
        bounds = zip(self.starts[chosen].tolist(), self.stops[chosen].tolist(), strict=True)
        for row, (start, stop) in zip(result, bounds, strict=False):
            row[: stop - start] = self.values[start:stop]
        return result

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Rows)
            and len(self) == len(other)
            and all(map(np.array_equal, self, other))
        )

    def __iter__(self) -> Iterator[list[int] | np.ndarray]:
        return map(self.__getitem__, range(len(self)))


class _Flat:
    """Rows that are copied one after the other: int32, or float32 if they are floats."""

    def __init__(self) -> None:
        self._ids = array("i")
        self._arrays: list[np.ndarray] = []
        self._offsets = array("q", [0])

    def append(self, row: Sequence[int] | np.ndarray) -> None:
        if isinstance(row, np.ndarray):
            self._arrays.append(row)
        else:
            self._ids.extend(row)
        self._offsets.append(self._offsets[-1] + len(row))

    def rows(self) -> Rows:
        values = np.asarray(self._ids)
        if self._arrays:
            are_ids = all(row.dtype.kind in "iu" for row in self._arrays)
            values = np.concatenate(self._arrays, dtype=np.int32 if are_ids else np.float32)
        return Rows.cut(values, np.asarray(self._offsets))


@dataclass(frozen=True)
class Examples(Sequence[Encoded]):
    """The encoded examples of a split; `alignments` are None if none is known."""

    source: Rows
    target: Rows
    alignments: Sequence[Origins | None] | None = None

    @classmethod
    def of(cls, examples: Iterable[Encoded]) -> "Examples":
        """Copy examples one by one; `Examples` are returned as they are."""
        if isinstance(examples, Examples):
            return examples
        source, target, alignments = _Flat(), _Flat(), []
        for example in examples:
            source.append(example.source)
            target.append(example.target)
            alignments.append(example.alignment)
        aligned = any(alignment is not None for alignment in alignments)
        return cls(source.rows(), target.rows(), alignments if aligned else None)

    def __len__(self) -> int:
        return len(self.source)

    @overload
    def __getitem__(self, index: int) -> Encoded: ...

    @overload
    def __getitem__(self, index: slice) -> "Examples": ...

    def __getitem__(self, index: int | slice) -> "Encoded | Examples":
        if isinstance(index, slice):
            return self.select(np.arange(len(self))[index])
        alignment = None if self.alignments is None else self.alignments[index]
        return Encoded(self.source[index], self.target[index], alignment)

    def select(self, chosen: np.ndarray) -> "Examples":
        """Return the examples with these indices; their ids are shared."""
        return Examples(
            self.source.select(chosen),
            self.target.select(chosen),
            None if self.alignments is None else [self.alignments[index] for index in chosen],
        )

    @property
    def ask_at_places(self) -> bool:
        """Whether a target is places of its source and their labels, see `LabeledPlaces`."""
        return self.target.are_ids and self.target.values.ndim > 1

    @property
    def lengths(self) -> np.ndarray:
        """[N, 2], the lengths of source and target."""
        return np.stack([self.source.lengths, self.target.lengths], -1)
