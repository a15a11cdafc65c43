"""The best continuations of a sentence's hypotheses, without sorting a vocabulary."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from attnjax.data.special_tokens import END, PAD, START

BLOCK = 128
"""The number of words in a block; the special tokens PAD, START and END fit into the first."""


class Candidates(NamedTuple):
    """The best continuations of each sentence, best first; equal scores in `jax.lax.top_k`'s order.

    Attributes:
        score: float32 [B, count]; -inf where fewer continuations are allowed.
        parent: the hypothesis that is continued, int32 [B, count].
        token: the word that continues it, int32 [B, count].
    """

    score: jax.Array
    parent: jax.Array
    token: jax.Array


def top_continuations(
    logits: jax.Array, score: jax.Array, *, may_end: jax.Array, must_end: jax.Array, count: int
) -> Candidates:
    """The `count` largest score[b, k] + log p(v) over k and v, where p = softmax(logits[b, k]).

    PAD and START are never chosen. The probabilities of the other words are not renormalized,
    though a decoder gives PAD and START a little probability.

    All words of a hypothesis share one offset, score - log(sum of exp(logits)), so that only one
    logarithm per hypothesis is computed. Words are compared in blocks of BLOCK: the `count` best
    continuations lie in the `count` blocks with the largest logit plus offset, and only the words
    of these blocks are sorted.

    Args:
        logits: [B, K, V].
        score: the scores of the hypotheses so far, float32 [B, K].
        may_end: whether END is allowed, a scalar.
        must_end: whether only END is allowed, [B].
        count: the number of continuations, at most K V.
    """
    logits = logits.astype(jnp.float32)
    (batch, size, words), must_end = logits.shape, must_end[:, None, None]

    def allowed(word: jax.Array) -> jax.Array:
        """Whether each word of an array [B or 1, any, any] is allowed."""
        other = (word != PAD) & (word != START) & (word < words) & ~must_end
        return jnp.where(word == END, may_end | must_end, other)

    # reduce_window needs no padded copy of the logits if BLOCK does not divide V
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
    # in ascending order, so that the first of equal words is taken
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
