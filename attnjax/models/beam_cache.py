"""One memory for the words of all K hypotheses of a sentence: slot l * K + k is k's at place l.

A beam drops some hypotheses and splits others at every step. Were each to have a memory of its own,
all of it would be copied each time. Here a word stays in the slot it was written to, and what moves
is a hypothesis' trail: in whose slot its word stands, at every place. The K hypotheses are then K
queries of one memory, of which each may see its own slots.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from attnjax.attention.mask import DenseMask


class Slots(NamedTuple):
    """What attention is told of a memory in slots.

    Attributes:
        own: which slots hold a hypothesis' words up to the present place, [B, K, L * K].
        first: the first of the present place's slots, a scalar.
        query_position: the present place, [1, K].
        key_position: the place of each slot, [1, L * K].
    """

    own: DenseMask
    first: jax.Array
    query_position: jax.Array
    key_position: jax.Array


def tread(trail: jax.Array, place: jax.Array) -> jax.Array:
    """The trails [B, K, L] when each hypothesis writes into its own slot of a place."""
    mine = jax.lax.broadcasted_iota(trail.dtype, (*trail.shape[:2], 1), 1)
    return jax.lax.dynamic_update_slice_in_dim(trail, mine, place, axis=2)


def slots(trail: jax.Array, place: jax.Array) -> Slots:
    """The slots when the words at a place are about to be written.

    Args:
        trail: in whose slot each hypothesis' word stands, int [B, K, L].
        place: the present one, a scalar.
    """
    size, length = trail.shape[1:]
    whose, places = jnp.arange(size), jnp.arange(length)
    own = trail[..., None] == whose[None, None, None, :]
    own &= (places <= place)[None, None, :, None]
    return Slots(
        own=DenseMask(own.reshape(*own.shape[:2], length * size)),
        first=place * size,
        query_position=jnp.broadcast_to(place, (1, size)),
        key_position=jnp.repeat(places, size)[None],
    )


def write(memory: Any, words: Any, first: jax.Array) -> Any:
    """The memory [..., L * K, any] with the words' [..., K, any] in the slots from the first on."""

    def put(old: jax.Array, new: jax.Array) -> jax.Array:
        return jax.lax.dynamic_update_slice_in_dim(old, new, first, axis=old.ndim - 2)

    return jax.tree.map(put, memory, words)


def longer(memory: Any, count: int) -> Any:
    """The memory, leaves [..., any, any], with empty slots behind its own: [..., count, any]."""

    def lengthen(old: jax.Array) -> jax.Array:
        new = jnp.zeros((*old.shape[:-2], count, old.shape[-1]), old.dtype)
        return new.at[..., : old.shape[-2], :].set(old)

    return jax.tree.map(lengthen, memory)
