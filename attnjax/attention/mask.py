"""Who may attend to whom, as a value: rules on positions and segments, joined by `&`.

A rule is a frozen pytree; it costs nothing until a path asks for it. Only this file builds a
[T, S] array: at length 65,536 its booleans alone would take 4 GiB. A path that reads tile by tile
asks `block` which tiles there are to read, and a rule that it has `cut` for one tile's booleans.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Integral
from operator import and_
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp

from attnjax.errors import UserError

type Array = Any
"""NumPy's where the compiler may know it, JAX's otherwise."""


class BlockRange(NamedTuple):
    """Blocks of rows, by the lowest and the highest number that each holds: [..., blocks]."""

    lowest: Array
    highest: Array

    @classmethod
    def of(cls, numbers: Array, size: int) -> "BlockRange":
        """Of numbers [..., T] in blocks of `size`, which divides T."""
        blocks = numbers.reshape(*numbers.shape[:-1], -1, size)
        return cls(blocks.min(-1), blocks.max(-1))

    def rows(self) -> "BlockRange":
        """As the rows of a table: [..., blocks, 1]."""
        return BlockRange(*(x[..., :, None] for x in self))

    def columns(self) -> "BlockRange":
        """As its columns: [..., 1, blocks]."""
        return BlockRange(*(x[..., None, :] for x in self))


class Tiles(NamedTuple):
    """Tables of tiles, booleans that broadcast to [..., query blocks, key blocks].

    Attributes:
        any: whether any pair of the tile may be allowed. False is certain, True is not.
        all: whether every pair is. True is certain, False is not.
    """

    any: Array
    all: Array


class Mask:
    """What every rule is; `a & b` allows what both allow.

    Attributes:
        axes: the last axes of each array that the rule holds, "query" or "key".
    """

    axes: ClassVar[dict[str, tuple[str, ...]]] = {}

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Booleans that broadcast to [..., T, S], True = attend.

        Args:
            query_position: absolute positions, integers [..., T].
            key_position: absolute positions, integers [..., S].
        """
        raise NotImplementedError

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Which tiles are empty and which are whole.

        Positions that are NumPy's give tables that are NumPy's, so that a loop can leave out what
        is empty before it is compiled; unless the rule itself holds arrays.

        Args:
            query: positions of the blocks of queries.
            key: positions of the blocks of keys.

        Raises:
            UserError: the rule does not say.
        """
        raise UserError(
            f"the rule {type(self).__name__} cannot be read tile by tile, which attention without "
            "weights has to; choose the route dense"
        )

    def has_blocks(self) -> bool:
        """Whether every rule says which tiles are empty."""
        return all(type(rule).block is not Mask.block for rule in self.rules())

    def rules(self) -> "tuple[Mask, ...]":
        """The single rules of which it is the conjunction."""
        return (self,)

    def map_arrays(self, function: Callable[[jax.Array, tuple[str, ...]], jax.Array]) -> Self:
        """The same rule with each array changed by function(array, the array's last axes)."""
        held = {name: function(getattr(self, name), axes) for name, axes in self.axes.items()}
        return replace(self, **held) if held else self  # pyright: ignore[reportArgumentType]

    def expand_heads(self) -> "Mask":
        """The same for every head: arrays [..., S] become [..., 1, S]."""
        return And(tuple(rule.map_arrays(_one_more) for rule in self.rules()))

    def __and__(self, other: "Mask") -> "Mask":
        """Allow what both allow."""
        return And((self, other))


def _one_more(array: jax.Array, axes: tuple[str, ...]) -> jax.Array:
    return jnp.expand_dims(array, -len(axes) - 1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class And(Mask):
    """The conjunction of several rules; of none: everything is allowed."""

    conjuncts: tuple[Mask, ...]

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Allow what every conjunct allows."""
        rules = (rule.dense(query_position, key_position) for rule in self.conjuncts)
        return reduce(and_, rules, jnp.ones((), bool))

    def rules(self) -> tuple[Mask, ...]:
        """Those of every conjunct."""
        return tuple(single for rule in self.conjuncts for single in rule.rules())


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Padding(Mask):
    """Only keys that are there.

    Attributes:
        present: booleans [..., S], True = a real key.
    """

    present: jax.Array
    axes = {"present": ("key",)}  # noqa: RUF012

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return [..., 1, S]."""
        return self.present[..., None, :]

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """A block of padding is empty."""
        present = BlockRange.of(
            self.present, self.present.shape[-1] // key.lowest.shape[-1]
        ).columns()
        return Tiles(present.highest, present.lowest)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Causal(Mask):
    """No key after the query: key position <= query position. Vaswani et al. 2017, section 3.1."""

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        return key_position[..., None, :] <= query_position[..., :, None]

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Above the diagonal it is empty, below it whole."""
        query, key = query.rows(), key.columns()
        return Tiles(key.lowest <= query.highest, key.highest <= query.lowest)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Window(Mask):
    """Only keys near the query: query - before <= key position <= query + after.

    Attributes:
        before: how many positions back, at least 0.
        after: how many positions ahead, at least 0.

    Raises:
        UserError: either reach is negative.
    """

    before: int | jax.Array
    after: int | jax.Array

    def __post_init__(self) -> None:
        """Refuse a negative reach, where it is a number already."""
        for name, reach in (("before", self.before), ("after", self.after)):
            if isinstance(reach, Integral) and int(reach) < 0:
                raise UserError(f"a window's {name} must be at least 0; got {reach}")

    def reach(self) -> tuple[int, int] | None:
        """Before and after, if they are known before compiling."""
        if isinstance(self.before, Integral) and isinstance(self.after, Integral):
            return int(self.before), int(self.after)
        return None

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        distance = key_position[..., None, :] - query_position[..., :, None]
        return (-self.before <= distance) & (distance <= self.after)

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Off the band it is empty."""
        query, key = query.rows(), key.columns()
        back, ahead = self.before, self.after
        some = (key.highest >= query.lowest - back) & (key.lowest <= query.highest + ahead)
        whole = (key.lowest >= query.highest - back) & (key.highest <= query.lowest + ahead)
        return Tiles(some, whole)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ExcludeSelf(Mask):
    """Every key but the query's own: key position != query position.

    With it a point is predicted from the others only: leave-one-out cross-validation.
    """

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        return key_position[..., None, :] != query_position[..., :, None]

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Whole where no position can be the same; empty only where all are one."""
        query, key = query.rows(), key.columns()
        apart = (key.highest < query.lowest) | (key.lowest > query.highest)
        return Tiles((query.lowest != key.highest) | (query.highest != key.lowest), apart)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Segments(Mask):
    """Only keys of the query's own segment: several sentences packed into one row.

    Attributes:
        query: integers [..., T].
        key: integers [..., S].
    """

    query: jax.Array
    key: jax.Array
    axes = {"query": ("query",), "key": ("key",)}  # noqa: RUF012

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        return self.query[..., :, None] == self.key[..., None, :]

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Empty where the blocks' segments do not overlap, whole where both are the same one."""
        mine = BlockRange.of(self.query, self.query.shape[-1] // query.lowest.shape[-1]).rows()
        theirs = BlockRange.of(self.key, self.key.shape[-1] // key.lowest.shape[-1]).columns()
        some = (mine.lowest <= theirs.highest) & (theirs.lowest <= mine.highest)
        return Tiles(some, (mine.lowest == theirs.highest) & (mine.highest == theirs.lowest))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DenseMask(Mask):
    """Any array of booleans, [..., T, S]: the last resort, for what no rule says."""

    allowed: jax.Array
    axes = {"allowed": ("query", "key")}  # noqa: RUF012

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return the array itself."""
        return jnp.asarray(self.allowed, bool)

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """What the array itself says."""
        rows, columns = query.lowest.shape[-1], key.lowest.shape[-1]
        *leading, T, S = self.allowed.shape
        tiles = jnp.asarray(self.allowed, bool).reshape(
            *leading, rows, T // rows, columns, S // columns
        )
        return Tiles(tiles.any((-3, -1)), tiles.all((-3, -1)))
