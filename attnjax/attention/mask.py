"""Masks: which query may attend to which key, as rules on positions and segments.

Rules are joined by `&` and `|`.

A mask is a frozen pytree, not an array. Only this file builds a [T, S] array of booleans, which at
length 65,536 would take 4 GiB. A fused kernel reads tiles, blocks of queries against blocks of
keys: it asks `block` which tiles may be skipped, and `dense` for the booleans of a single tile.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_, or_
from typing import ClassVar, Literal, Self

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.position import BlockRange, Positions, Tiles, distance
from attnjax.attention.traits import Expectations
from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.errors import UserError


@dataclass(frozen=True)
class Mask(Expectations, ABC):
    """A rule that says which query may attend to which key; `a & b` allows what both allow."""

    axes: ClassVar[dict[str, tuple[str, ...]]] = {}
    """For each field that holds an array, the names of its last axes, "query" or "key"."""

    def __post_init__(self) -> None:
        """Make arrays of lists."""
        for name in self.axes:
            given = getattr(self, name)
            if isinstance(given, list | tuple):
                try:
                    array = np.asarray(given)
                except ValueError as error:
                    kind = type(self).__name__
                    raise UserError(f"{kind}.{name} wants lists of one length") from error
                object.__setattr__(self, name, array)

    @abstractmethod
    def dense(self, positions: Positions) -> jax.Array:
        """Return booleans that broadcast to [..., T, S], True = attend; positions are absolute."""

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Return which tiles may hold an allowed pair, and which hold allowed pairs only.

        The ranges are the positions of each block of queries and of keys. If they are NumPy arrays
        and the rule holds no array, so are the tables: a kernel then leaves the empty tiles out of
        its program. A rule without `block` is refused.
        """
        raise UserError(
            f"the mask {type(self).__name__} has no method block, which a fused kernel calls: "
            "choose implementation dense"
        )

    def has_blocks(self) -> bool:
        """Return whether every rule has the method `block`, which a fused kernel calls."""
        return type(self).block is not Mask.block

    def holds_arrays(self) -> bool:
        """Whether the rule says something of particular examples."""
        return bool(self.arrays())

    def seen_keys(self) -> jax.Array | None:
        """Return booleans [..., S], False for keys that the rule's arrays hide from every query.

        None: it hides no key; positions alone do not count.
        """
        return None

    def rules(self) -> "tuple[Mask, ...]":
        """Return the single rules of a conjunction."""
        return (self,)

    def arrays(self) -> "list[tuple[jax.Array, tuple[str, ...]]]":
        """Return each array of the rule with the names of its last axes."""
        return [(getattr(self, name), axes) for name, axes in self.axes.items()]

    def map_arrays(self, function: Callable[[jax.Array, tuple[str, ...]], jax.Array]) -> Self:
        """Replace each array of the rule by function(array, names of its last axes)."""
        held = {name: function(getattr(self, name), axes) for name, axes in self.axes.items()}
        return replace(self, **held) if held else self  # pyright: ignore[reportArgumentType]

    def expand_heads(self) -> "Mask":
        """Return the same mask for every head: arrays [..., S] become [..., 1, S]."""

        def expand(array: jax.Array, axes: tuple[str, ...]) -> jax.Array:
            return jnp.expand_dims(array, -len(axes) - 1)

        return self.map_arrays(expand)

    def __and__(self, other: "Mask") -> "Mask":
        """Allow what both allow."""
        return And((self, other))

    def __or__(self, other: "Mask") -> "Mask":
        """Allow what either allows."""
        return Or((self, other))


type MaskLike = Mask | jax.Array | None
"""A mask, an array of booleans that stands for a `DenseMask`, or None: everything is allowed."""


def as_mask(mask: MaskLike, query: jax.Array) -> Mask:
    """Return the mask that a caller gave; booleans [..., T, S] become a `DenseMask`.

    The query is [..., T, any]; an array with fewer axes, such as [T, S], is broadcast as in JAX.
    """
    if mask is None:
        return And()
    if isinstance(mask, Mask):
        return mask
    array = jnp.asarray(mask)
    if array.dtype != bool or not 2 <= array.ndim <= query.ndim:
        raise UserError(
            f"a mask given as an array wants booleans with 2 to {query.ndim} axes, [..., T, S], "
            f"for queries {list(query.shape)}; got {array.dtype} {list(array.shape)}"
        )
    return DenseMask(jnp.expand_dims(array, range(query.ndim - array.ndim)))


def allowed_pairs(mask: Mask, positions: Positions, shape: tuple[int, ...]) -> jax.Array | None:
    """Return the booleans of a mask in a shape [..., T, S], or None: everything is allowed."""
    return jnp.broadcast_to(mask.dense(positions), shape) if mask.rules() else None


def join(*masks: Mask | None) -> Mask:
    """Return the mask that allows what every given mask allows."""
    given = [mask for mask in masks if mask is not None and mask.rules()]
    return reduce(and_, given) if given else And()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class And(Mask):
    """The conjunction of several masks; without any, everything is allowed."""

    conjuncts: tuple[Mask, ...] = ()

    def dense(self, positions: Positions) -> jax.Array:
        rules = (rule.dense(positions) for rule in self.conjuncts)
        return reduce(and_, rules, jnp.ones((), bool))

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Mark tiles as every conjunct does."""
        every = np.ones((1, 1, 1), bool)  # without a conjunct all is allowed
        tables = Tiles(every, every), *(rule.block(query, key) for rule in self.conjuncts)
        return Tiles(*(reduce(and_, entries) for entries in zip(*tables, strict=True)))

    def has_blocks(self) -> bool:
        return all(rule.has_blocks() for rule in self.conjuncts)

    def seen_keys(self) -> jax.Array | None:
        seen = [array for rule in self.conjuncts if (array := rule.seen_keys()) is not None]
        return reduce(and_, seen) if seen else None

    def rules(self) -> tuple[Mask, ...]:
        return tuple(single for rule in self.conjuncts for single in rule.rules())

    def arrays(self) -> list[tuple[jax.Array, tuple[str, ...]]]:
        return [x for rule in self.conjuncts for x in rule.arrays()]

    def map_arrays(self, function: Callable[[jax.Array, tuple[str, ...]], jax.Array]) -> "And":
        return And(tuple(rule.map_arrays(function) for rule in self.conjuncts))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Or(Mask):
    """What at least one of several masks allows; at least one is given."""

    alternatives: tuple[Mask, ...]

    def dense(self, positions: Positions) -> jax.Array:
        return reduce(or_, (rule.dense(positions) for rule in self.alternatives))

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Return a table in which a tile is whole only if it is whole for a single alternative."""
        tables = [rule.block(query, key) for rule in self.alternatives]
        return Tiles(*(reduce(or_, entries) for entries in zip(*tables, strict=True)))

    def has_blocks(self) -> bool:
        return all(rule.has_blocks() for rule in self.alternatives)

    def arrays(self) -> list[tuple[jax.Array, tuple[str, ...]]]:
        return [x for rule in self.alternatives for x in rule.arrays()]

    def seen_keys(self) -> jax.Array | None:
        seen = [rule.seen_keys() for rule in self.alternatives]
        arrays = [array for array in seen if array is not None]
        return reduce(or_, arrays) if len(arrays) == len(seen) else None

    def map_arrays(self, function: Callable[[jax.Array, tuple[str, ...]], jax.Array]) -> "Or":
        return Or(tuple(rule.map_arrays(function) for rule in self.alternatives))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Padding(Mask):
    """Real keys only, no padding: `present` are booleans [..., S], True = a real key."""

    present: jax.Array
    axes = {"present": ("key",)}  # noqa: RUF012

    @classmethod
    def of(cls, lengths: jax.Array, words: int) -> "Padding":
        """Return the padding of sentences of these lengths, [...], in rows of S words."""
        numbers = jnp.arange(words).reshape(*[1] * jnp.ndim(lengths), words)
        return cls(numbers < jnp.asarray(lengths)[..., None])

    def dense(self, positions: Positions) -> jax.Array:
        return self.present[..., None, :]

    def seen_keys(self) -> jax.Array:
        return self.present

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Mark blocks of padding only as empty."""
        present = key.like(self.present).columns()
        return Tiles(present.highest, present.lowest)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Causal(Mask):
    """No key after the query: key position <= query position. Vaswani et al. 2017, section 3.1."""

    def dense(self, positions: Positions) -> jax.Array:
        return positions.key[..., None, :] <= positions.query[..., :, None]

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Mark tiles above the diagonal as empty, those below it as whole."""
        query, key = query.rows(), key.columns()
        return Tiles(key.lowest <= query.highest, key.highest <= query.lowest)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Window(Mask):
    """Only keys near the query: query position - before <= key position <= query position + after.

    Source: Vaswani et al. 2017, section 4 (restricted self-attention).
    """

    before: NonNegativeInt = field(default=10, metadata={"static": True})
    after: NonNegativeInt = field(default=10, metadata={"static": True})

    def __post_init__(self) -> None:
        """Refuse a negative number: the window would be empty in silence."""
        for name in ("before", "after"):
            if getattr(self, name) < 0:
                raise UserError(f"Window.{name} must be at least 0; got {getattr(self, name)}")

    def dense(self, positions: Positions) -> jax.Array:
        ahead = distance(positions)
        return (-self.before <= ahead) & (ahead <= self.after)

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Mark tiles off the band as empty, those within it as whole."""
        query, key = query.rows(), key.columns()
        before, after = self.before, self.after
        reached = (key.highest >= query.lowest - before) & (key.lowest <= query.highest + after)
        whole = (key.lowest >= query.highest - before) & (key.highest <= query.lowest + after)
        return Tiles(reached, whole)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Prefix(Mask):
    """Only the first words: position < length, of keys or of queries.

    With `|` it lets all words see the first ones, `Window(8, 8) | Prefix(2)`, and these see all,
    `... | Prefix(2, of="query")`: the global words of Beltagy et al. 2020, section 3.1, here with
    the projections of all others.
    """

    uses_absolute_positions = True

    length: PositiveInt = field(default=1, metadata={"static": True})
    of: Literal["key", "query"] = field(default="key", metadata={"static": True})

    def __post_init__(self) -> None:
        """Refuse what would be empty, or of the other side, in silence."""
        if self.length < 1 or self.of not in ("key", "query"):
            raise UserError(f"Prefix wants a length of at least 1, of key or query; got {self}")

    def dense(self, positions: Positions) -> jax.Array:
        if self.of == "key":
            return positions.key[..., None, :] < self.length
        return positions.query[..., :, None] < self.length

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Mark tiles beyond the prefix as empty, those within it as whole."""
        numbers = key.columns() if self.of == "key" else query.rows()
        return Tiles(numbers.lowest < self.length, numbers.highest < self.length)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ExcludeSelf(Mask):
    """Every key but the query's own: key position != query position.

    With it a point is predicted from the others only: leave-one-out cross-validation.
    """

    def dense(self, positions: Positions) -> jax.Array:
        return positions.key[..., None, :] != positions.query[..., :, None]

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Mark a tile as empty if all positions are equal, as whole if no two can be."""
        query, key = query.rows(), key.columns()
        apart = (key.highest < query.lowest) | (key.lowest > query.highest)
        return Tiles((query.lowest != key.highest) | (query.highest != key.lowest), apart)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Segments(Mask):
    """Only keys of the query's own segment: several sentences packed into one row.

    The segments of queries and keys are integers [..., T] and [..., S]. One array is enough for
    self-attention.
    """

    query: jax.Array
    key: jax.Array = None  # pyright: ignore[reportAssignmentType]  # then that of the queries
    axes = {"query": ("query",), "key": ("key",)}  # noqa: RUF012

    def __post_init__(self) -> None:
        """Take the segments of the queries for those of the keys, if these are not given."""
        super().__post_init__()
        if self.key is None:
            object.__setattr__(self, "key", self.query)

    def dense(self, positions: Positions) -> jax.Array:
        return self.query[..., :, None] == self.key[..., None, :]

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Mark a tile as empty if its segments do not overlap, as whole if it lies in one."""
        mine, theirs = query.like(self.query).rows(), key.like(self.key).columns()
        overlap = (mine.lowest <= theirs.highest) & (theirs.lowest <= mine.highest)
        whole = (mine.lowest == theirs.highest) & (mine.highest == theirs.lowest)
        return Tiles(overlap, whole)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DenseMask(Mask):
    """An array of booleans [..., T, S], for what no other rule says; it takes T S bytes."""

    allowed: jax.Array
    axes = {"allowed": ("query", "key")}  # noqa: RUF012

    def dense(self, positions: Positions) -> jax.Array:
        return jnp.asarray(self.allowed, bool)

    def seen_keys(self) -> jax.Array | None:
        return jnp.asarray(self.allowed, bool).any(-2)

    def block(self, query: BlockRange, key: BlockRange) -> Tiles:
        """Reduce the array over each tile."""
        rows, columns = query.lowest.shape[-1], key.lowest.shape[-1]
        *leading, T, S = self.allowed.shape
        shape = (*leading, rows, T // rows, columns, S // columns)
        tiles = jnp.asarray(self.allowed, bool).reshape(shape)
        return Tiles(tiles.any((-3, -1)), tiles.all((-3, -1)))
