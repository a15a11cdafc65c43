"""Blocks of queries and of keys, as masks describe them to a fused kernel."""

from typing import NamedTuple

from attnjax.attention.position import AnyArray


class BlockRange(NamedTuple):
    """The lowest and the highest number in each block of an axis: [..., blocks]."""

    lowest: AnyArray
    highest: AnyArray

    @classmethod
    def of(cls, numbers: AnyArray, size: int) -> "BlockRange":
        """Return the ranges of numbers [..., T] in blocks of `size`, which divides T."""
        blocks = numbers.reshape(*numbers.shape[:-1], -1, size)
        return cls(blocks.min(-1), blocks.max(-1))

    def like(self, numbers: AnyArray) -> "BlockRange":
        """Return the ranges of other numbers, in as many blocks."""
        return BlockRange.of(numbers, numbers.shape[-1] // self.lowest.shape[-1])

    def rows(self) -> "BlockRange":
        """Return the ranges as rows of a table of tiles: [..., blocks, 1]."""
        return BlockRange(*(x[..., :, None] for x in self))

    def columns(self) -> "BlockRange":
        """Return the ranges as columns of a table of tiles: [..., 1, blocks]."""
        return BlockRange(*(x[..., None, :] for x in self))


class Tiles(NamedTuple):
    """The tiles of a rule: booleans that broadcast to [..., query blocks, key blocks].

    Attributes:
        any: False if no pair of the tile is allowed; True if some pair may be.
        all: True if every pair of the tile is allowed; False if some pair may not be.
    """

    any: AnyArray
    all: AnyArray
