"""Positions of queries and keys, and encodings of positions that are added to embeddings."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jax.core import Tracer

from attnjax.config.constraints import PositiveInt
from attnjax.errors import UserError
from attnjax.nn.axes import known_length
from attnjax.nn.length_limit import LengthLimited

type AnyArray = Any
"""A NumPy array if it is known before compiling, else a JAX array."""


class Positions(NamedTuple):
    """Absolute positions of queries and keys: integers that broadcast to [..., T] and [..., S].

    They restart at 0 where a row holds several packed sentences. In a call of an attention None
    stands for 0, 1, ...; a score, an align or a mask gets arrays.
    """

    query: AnyArray = None
    key: AnyArray = None

    def filled(self, query: jax.Array, key: jax.Array) -> "Positions":
        """Return the same with 0, 1, ... for None, of queries [..., T, K] and keys [..., S, K]."""
        return Positions(
            _numbers(query) if self.query is None else self.query,
            _numbers(key) if self.key is None else self.key,
        )

    def expand_heads(self) -> "Positions":
        """Return the same positions for every head: [..., T] becomes [..., 1, T]."""
        query = None if self.query is None else jnp.expand_dims(self.query, -2)
        if self.key is self.query:  # of words that attend to themselves; a bias asks for it
            return Positions(query, query)
        return Positions(query, None if self.key is None else jnp.expand_dims(self.key, -2))


def _numbers(x: jax.Array) -> jax.Array:
    """Return 0, 1, ... for the rows of x [..., T, K], as [1, ..., 1, T]."""
    return jnp.arange(x.shape[-2]).reshape(*[1] * (x.ndim - 2), -1)


def distance(positions: Positions) -> jax.Array:
    """Return key position - query position for each pair, [..., T, S]."""
    return positions.key[..., None, :] - positions.query[..., :, None]


def clipped_distance(positions: Positions, most: int) -> jax.Array:
    """Return the distance clipped to [-most, most], plus `most`: 0, ..., 2 most; [..., T, S].

    Source: Shaw et al. 2018, section 3.2.
    """
    return jnp.clip(distance(positions), -most, most) + most


def index_of(position: AnyArray, count: int, owner: str) -> jax.Array:
    """Return positions as indices into a table of `count` rows, read with mode "fill".

    A position outside the table becomes `count`, where "fill" reads NaN; a negative index would
    count from the end. One that is known before compiling is refused, in the owner's name.
    """
    index = jnp.asarray(position)
    if not isinstance(position, Tracer):
        known = np.asarray(position)
        outside = known[(known < 0) | (known >= count)]
        if outside.size:
            raise UserError(f"{owner} has positions 0 to {count - 1}; got {outside[0]}")
    return jnp.where(index < 0, count, index)


class Position(nn.Module, ABC):
    """An encoding of positions: it adds to each embedding what depends on its position."""

    @abstractmethod
    def __call__(self, embedding: jax.Array, position: jax.Array) -> jax.Array:
        """Add to embeddings [..., T, D] their positions [..., T], integers -> [..., T, D]."""


def sinusoidal(position: jax.Array, width: int) -> jax.Array:
    """Encode positions [..., T] by sines and cosines, [..., T, D] in float32; D is the width.

        PE[p, 2i] = sin(p / 10000^(2i/D))
        PE[p, 2i+1] = cos(p / 10000^(2i/D))

    Source: Vaswani et al. 2017, section 3.5.
    """
    rate = 10_000.0 ** (-np.arange(0, width, 2) / width)
    # not by a product of matrices, whose operands a TPU would round
    angle = jnp.multiply.outer(position.astype(jnp.float32), rate.astype(np.float32))
    waves = jnp.stack([jnp.sin(angle), jnp.cos(angle)], axis=-1)
    return waves.reshape(*position.shape, 2 * len(rate))[..., :width]


class Sinusoidal(Position):
    """`sinusoidal` as a part: no parameters, and no maximum length."""

    def __call__(self, embedding: jax.Array, position: jax.Array) -> jax.Array:
        waves = sinusoidal(position, embedding.shape[-1]).astype(embedding.dtype)
        return embedding + jnp.broadcast_to(waves, embedding.shape)


class Learned(Position, LengthLimited):
    """A learned vector for each position.

    A vector at a position from `max_length` on is NaN.

    Raises:
        UserError: a row is longer than `max_length`; or a position outside
            0, ..., max_length - 1 is known before compiling.

    Source: Gehring et al. 2017; Vaswani et al. 2017, Table 3 row E.
    """

    max_length: PositiveInt = 512

    @nn.compact
    def __call__(self, embedding: jax.Array, position: jax.Array) -> jax.Array:
        steps, width = embedding.shape[-2:]
        if known_length(steps, "Learned") > self.max_length:
            raise UserError(f"at most {self.max_length} positions are learned; got {steps}")
        normal = nn.initializers.normal(width**-0.5)
        table = self.param("embedding", normal, (self.max_length, width))
        index = index_of(position, self.max_length, "Learned")
        vectors = jnp.take(table, index, axis=0, mode="fill")
        return embedding + jnp.broadcast_to(vectors, embedding.shape)


class NoPosition(Position):
    """No position: attention then sees a set of words without order."""

    def __call__(self, embedding: jax.Array, position: jax.Array) -> jax.Array:
        return embedding


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
