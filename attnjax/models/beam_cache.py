"""The cache of a Transformer's decoder in beam search, shared by the K hypotheses of a sentence.

One key-value cache is shared by the beam: what beam k wrote at step l stays at index l * K + k.
Hypotheses carry back-pointers to the beam whose entry they inherit at each step. So when a search
drops some hypotheses and continues others twice, it moves the back-pointers, not the cache. The K
hypotheses are K queries of one cache, and a mask shows each query its own entries.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from attnjax.attention.mask import DenseMask
from attnjax.attention.position import Positions


class BeamCache(NamedTuple):
    """Where the entries of the present step go, and which entries each hypothesis may attend to.

    Attributes:
        mask: the entries of each hypothesis up to the present step, [B, K, L * K].
        first: the index of the first of the present step's K entries, a scalar.
        positions: of the K queries, the present step, [1, K]; of the entries, [1, L * K].
    """

    mask: DenseMask
    first: jax.Array
    positions: Positions


def append_self(back_pointers: jax.Array, step: jax.Array) -> jax.Array:
    """The back-pointers [B, K, L] with each hypothesis pointing to itself at a step."""
    itself = jax.lax.broadcasted_iota(back_pointers.dtype, (*back_pointers.shape[:2], 1), 1)
    return jax.lax.dynamic_update_slice_in_dim(back_pointers, itself, step, axis=2)


def beam_cache(back_pointers: jax.Array, step: jax.Array) -> BeamCache:
    """How a step reads and writes the cache.

    Args:
        back_pointers: the beam that wrote each hypothesis' entry at each step, int [B, K, L], the
            present step included.
        step: the present step, a scalar.
    """
    beams, length = back_pointers.shape[1:]
    writer, steps = jnp.arange(beams), jnp.arange(length)
    own = back_pointers[..., None] == writer[None, None, None, :]
    own &= (steps <= step)[None, None, :, None]
    return BeamCache(
        mask=DenseMask(own.reshape(*own.shape[:2], length * beams)),
        first=step * beams,
        positions=Positions(jnp.broadcast_to(step, (1, beams)), jnp.repeat(steps, beams)[None]),
    )


def write_cache(cache: Any, entries: Any, first: jax.Array) -> Any:
    """The cache [..., L * K, any] with the entries [..., K, any] from index `first` on."""

    def write(old: jax.Array, new: jax.Array) -> jax.Array:
        return jax.lax.dynamic_update_slice_in_dim(old, new, first, axis=old.ndim - 2)

    return jax.tree.map(write, cache, entries)


def grow_cache(cache: Any, entries: int) -> Any:
    """The cache, leaves [..., any, any], with empty entries behind its own: [..., entries, any]."""

    def grow(old: jax.Array) -> jax.Array:
        new = jnp.zeros((*old.shape[:-2], entries, old.shape[-1]), old.dtype)
        return new.at[..., : old.shape[-2], :].set(old)

    return jax.tree.map(grow, cache)
