"""Packed rows, in which several sentences stand one behind the other: places, and what words see.

Sentences are numbered as in `attnjax.data.packing.Packing`: [B, T], from 0, without a gap.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from attnjax.attention.mask import Mask, Padding, Segments
from attnjax.attention.position import Positions
from attnjax.data.packing import Packing
from attnjax.data.special_tokens import PAD


class RowMasks(NamedTuple):
    """The masks of an encoder and a decoder, and the positions of their words.

    Attributes:
        source: between the words of the source.
        target: between the words of the target, beside causality; None: nothing more.
        across: from the words of the target to those of the source.
        positions: of target and source in their own sentences; None means 0, 1, ...
    """

    source: Mask
    target: Mask | None
    across: Mask
    positions: Positions


def row_masks(source: jax.Array, packing: Packing | None) -> RowMasks:
    """The masks of sources [B, S]; with a packing every sentence sees itself alone."""
    present = Padding(source != PAD)
    if packing is None:
        return RowMasks(present, None, present, Positions())
    target, source = packing.target, packing.source
    return RowMasks(
        present & Segments(source, source),
        Segments(target, target),
        present & Segments(target, source),
        Positions(positions_in(target), positions_in(source)),
    )


def first_places(sentence: jax.Array) -> jax.Array:
    """Booleans [B, T]: the first place of each sentence."""
    before = jnp.pad(sentence[:, :-1], ((0, 0), (1, 0)), constant_values=-1)
    return sentence != before


def last_places(sentence: jax.Array) -> jax.Array:
    """Booleans [B, T]: the last place of each sentence."""
    after = jnp.pad(sentence[:, 1:], ((0, 0), (0, 1)), constant_values=-1)
    return sentence != after


def positions_in(sentence: jax.Array) -> jax.Array:
    """The position of each place in its own sentence, from 0: integers [B, T]."""
    place = jnp.broadcast_to(jnp.arange(sentence.shape[1])[None], sentence.shape)
    first = jnp.where(first_places(sentence), place, 0)
    return place - jax.lax.cummax(first, axis=1)


def words_before(sentence: jax.Array, present: jax.Array) -> jax.Array:
    """How many words of a row are of the sentences before each number 0, ..., T: [B, T + 1]."""
    rows, places = sentence.shape
    count = jnp.zeros((rows, places + 1), jnp.int32)
    count = count.at[jnp.arange(rows)[:, None], sentence + 1].add(
        present.astype(jnp.int32), mode="drop"
    )
    return jnp.cumsum(count, axis=1)
