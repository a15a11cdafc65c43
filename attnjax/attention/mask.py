"""Who may attend to whom, as a value: rules on positions and segments, joined by `&`.

A rule is a frozen pytree; it costs nothing until a path asks for it. Only this file builds a
[T, S] array: at length 65,536 its booleans alone would take 4 GiB.
"""

from dataclasses import dataclass
from functools import reduce
from operator import and_

import jax
import jax.numpy as jnp

from attnjax.errors import UserError


class Mask:
    """What every rule is; `a & b` allows what both allow."""

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Booleans that broadcast to [..., T, S], True = attend.

        Args:
            query_position: absolute positions, integers [..., T].
            key_position: absolute positions, integers [..., S].
        """
        raise NotImplementedError

    def __and__(self, other: "Mask") -> "Mask":
        """Allow what both allow."""
        return All((self, other))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class All(Mask):
    """The conjunction of several rules; of none: everything is allowed."""

    rules: tuple[Mask, ...]

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Allow what every rule allows."""
        rules = (rule.dense(query_position, key_position) for rule in self.rules)
        return reduce(and_, rules, jnp.ones((), bool))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Padding(Mask):
    """Only keys that are there.

    Attributes:
        present: booleans [..., S], True = a real key.
    """

    present: jax.Array

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return [..., 1, S]."""
        return self.present[..., None, :]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Causal(Mask):
    """No key after the query: key position <= query position. Vaswani et al. 2017, section 3.1."""

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        return key_position[..., None, :] <= query_position[..., :, None]


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
            if isinstance(reach, int) and reach < 0:
                raise UserError(f"a window's {name} must be at least 0; got {reach}")

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        distance = key_position[..., None, :] - query_position[..., :, None]
        return (-self.before <= distance) & (distance <= self.after)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Others(Mask):
    """Every key but the query's own: key position != query position.

    With it a point is predicted from the others only: leave-one-out cross-validation.
    """

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        return key_position[..., None, :] != query_position[..., :, None]


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

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        return self.query[..., :, None] == self.key[..., None, :]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Dense(Mask):
    """Any array of booleans, [..., T, S]: the last resort, for what no rule says."""

    allowed: jax.Array

    def dense(self, query_position: jax.Array, key_position: jax.Array) -> jax.Array:
        """Return the array itself."""
        return jnp.asarray(self.allowed, bool)
