"""Packed rows: where their sentences lie, numbered as in `attnjax.data.batch_plan.Packing`."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from attnjax.attention.mask import Mask, Padding, Segments
from attnjax.attention.position import Positions
from attnjax.data.batch_plan import Packing
from attnjax.data.special_tokens import PAD
from attnjax.models.shapes import Text, Words


class RowMasks(NamedTuple):
    """The masks of an encoder and a decoder, and the positions of their words.

    Within the target there is causality beside its mask; positions of None are 0, 1, ...
    """

    source: Mask
    target: Mask | None
    across: Mask
    positions: Positions


def row_masks(source: Text, packing: Packing | None) -> RowMasks:
    """Return the masks of sources; with a packing every sentence sees itself alone."""
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


def sentence_starts(sentence: Words) -> Bool[Array, "B T"]:
    """Return whether each position is the first of its sentence."""
    before = jnp.pad(sentence[:, :-1], ((0, 0), (1, 0)), constant_values=-1)
    return sentence != before


def sentence_ends(sentence: Words) -> Bool[Array, "B T"]:
    """Return whether each position is the last of its sentence."""
    after = jnp.pad(sentence[:, 1:], ((0, 0), (0, 1)), constant_values=-1)
    return sentence != after


def positions_in(sentence: Words) -> Words:
    """Return each word's position in its own sentence, from 0."""
    index = jnp.broadcast_to(jnp.arange(sentence.shape[1])[None], sentence.shape)
    first = jnp.where(sentence_starts(sentence), index, 0)
    return index - jax.lax.cummax(first, axis=1)


def words_before(sentence: Words, present: Bool[Array, "B T"]) -> Int[Array, "B T+1"]:
    """Count the words of a row in the sentences before each number 0, ..., T."""
    rows, length = sentence.shape
    count = jnp.zeros((rows, length + 1), jnp.int32)
    count = count.at[jnp.arange(rows)[:, None], sentence + 1].add(
        present.astype(jnp.int32), mode="drop"
    )
    return jnp.cumsum(count, axis=1)
