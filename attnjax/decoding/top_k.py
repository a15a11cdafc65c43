"""The best continuations of a sentence's hypotheses, without sorting a vocabulary."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from attnjax.data.special_tokens import END, PAD, START

BLOCK = 128
"""So many words stand behind their largest logit; more than PAD, START and END are."""


class Candidates(NamedTuple):
    """Continuations of a sentence, best first; the order of equals is `jax.lax.top_k`'s.

    Attributes:
        score: float32 [B, count]; -inf where there are no more.
        parent: which hypothesis goes on, int32 [B, count].
        token: with which word, int32 [B, count].
    """

    score: jax.Array
    parent: jax.Array
    token: jax.Array


def top_continuations(
    logits: jax.Array, score: jax.Array, *, may_end: jax.Array, must_end: jax.Array, count: int
) -> Candidates:
    """The `count` largest score[b, k] + log p(v) over k and v, where p = softmax(logits[b, k]).

    PAD and START, to which a decoder gives a little probability, are no words of a sentence; the
    others' probabilities are not renormalized for it.

    What is added to the logits of a hypothesis is the same for all its words. So no logarithm but
    one a hypothesis is formed, and of the words only those are sorted whose block is among the
    `count` with the largest logits: before any other block's words, as many better ones come.

    Args:
        logits: [B, K, V].
        score: of the hypotheses so far, float32 [B, K].
        may_end: whether END may come, a scalar.
        must_end: whether nothing else may, [B].
        count: how many; at most K V.
    """
    logits = logits.astype(jnp.float32)
    (batch, size, words), must_end = logits.shape, must_end[:, None, None]

    def allowed(word: jax.Array) -> jax.Array:
        """Words [B or 1, any, any] that may come."""
        other = (word != PAD) & (word != START) & (word < words) & ~must_end
        return jnp.where(word == END, may_end | must_end, other)

    # reduce_window alone reads the logits as they are, whatever number of blocks they make
    largest = jax.lax.reduce_window(
        logits,
        -jnp.inf,
        jax.lax.max,
        (1, 1, BLOCK),
        (1, 1, BLOCK),
        ((0, 0), (0, 0), (0, -words % BLOCK)),
    )
    peak = largest.max(-1)
    offset = score - peak - jnp.log(jnp.exp(logits - peak[..., None]).sum(-1))
    first = jnp.arange(min(BLOCK, words))[None, None]
    first = jnp.where(allowed(first), logits[..., : first.size], -jnp.inf).max(-1, keepdims=True)
    largest = jnp.concatenate([first, jnp.where(must_end, -jnp.inf, largest[..., 1:])], axis=-1)
    blocks = largest.shape[-1]
    largest = (largest + offset[..., None]).reshape(batch, -1)
    _, chosen = jax.lax.top_k(largest, min(count, size * blocks))
    # in their own order, so that of equal words the first is taken
    chosen = jnp.sort(chosen, axis=-1).astype(jnp.int32)

    parent, block = jnp.divmod(chosen, blocks)
    token = block[..., None] * BLOCK + jnp.arange(BLOCK, dtype=jnp.int32)[None, None]
    there = jnp.minimum(token, words - 1)
    index = (parent[..., None] * words + there).reshape(batch, -1)
    gain = jnp.take_along_axis(logits.reshape(batch, -1), index, axis=1).reshape(token.shape)
    total = gain + jnp.take_along_axis(offset, parent, axis=1)[..., None]
    total = jnp.where(allowed(token), total, -jnp.inf).reshape(batch, -1)
    total, place = jax.lax.top_k(total, count)
    return Candidates(
        total,
        jnp.take_along_axis(parent, place // BLOCK, axis=1),
        jnp.take_along_axis(there.reshape(batch, -1), place, axis=1),
    )
