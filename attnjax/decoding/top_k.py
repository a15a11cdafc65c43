"""The best continuations of a sentence's hypotheses, without sorting a vocabulary."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from attnjax.data.special_tokens import END, PAD, START

BLOCK = 128
"""The number of words in a block; the special tokens PAD, START and END fit into the first."""


class Candidates(NamedTuple):
    """The N best continuations of each sentence, in `jax.lax.top_k`'s order.

    The score is -inf where fewer continuations are allowed.
    """

    score: Float[Array, "B N"]
    parent: Int[Array, "B N"]
    token: Int[Array, "B N"]


def top_continuations(
    logits: Float[Array, "B K V"],
    score: Float[Array, "B K"],
    *,
    may_end: Bool[Array, ""],
    must_end: Bool[Array, " B"],
    count: int,
) -> Candidates:
    """Return the `count` largest score[b, k] + log p(v) over k and v, p = softmax(logits[b, k]).

    PAD and START are never chosen, and END alone where `must_end`; `count` is at most K V.

    All words of a hypothesis share one offset, score - log(sum of exp(logits)), so that only one
    logarithm per hypothesis is computed. Words are compared in blocks of BLOCK: the `count` best
    continuations lie in the `count` blocks with the largest logit plus offset, and only the words
    of these blocks are sorted.
    """
    logits = logits.astype(jnp.float32)
    (batch, size, words), must_end = logits.shape, must_end[:, None, None]

    def allowed(word: Int[Array, "#B _ _"]) -> Array:
        inner = (word != PAD) & (word != START) & (word < words) & ~must_end
        return jnp.where(word == END, may_end | must_end, inner)

    # reduce_window needs no padded copy of the logits if BLOCK does not divide V
    window, padding = (1, 1, BLOCK), ((0, 0), (0, 0), (0, -words % BLOCK))
    largest = jax.lax.reduce_window(logits, -jnp.inf, jax.lax.max, window, window, padding)
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
    # a word beyond the vocabulary, which is not allowed, has the score of the last
    known = jnp.minimum(token, words - 1)
    index = (parent[..., None] * words + known).reshape(batch, -1)
    gain = jnp.take_along_axis(logits.reshape(batch, -1), index, axis=1).reshape(token.shape)
    total = gain + jnp.take_along_axis(offset, parent, axis=1)[..., None]
    total = jnp.where(allowed(token), total, -jnp.inf).reshape(batch, -1)
    total, index = jax.lax.top_k(total, count)
    return Candidates(
        total,
        jnp.take_along_axis(parent, index // BLOCK, axis=1),
        jnp.take_along_axis(known.reshape(batch, -1), index, axis=1),
    )
