"""Label-smoothed cross entropy over a large vocabulary; the logits are computed in chunks."""

from functools import partial

import jax
import jax.numpy as jnp

from attnjax.data.special_tokens import PAD
from attnjax.nn.dtypes import wide
from attnjax.nn.platform import platforms
from attnjax.nn.product import product

# The tokens of a chunk on a CPU. On two cores, with 4,096 tokens, 10,000 words and width 128, 512
# is the fastest of 128 to 4,096: a smaller chunk rereads the table's gradient more often, a larger
# one does not fit the processor's cache.
CHUNK = 512

# The bytes of the logits of a chunk elsewhere. On a TPU logits that fit into the 128 MiB of the
# chip's own memory cost no traffic: with 3,072 tokens, 37,000 words and width 512 a v5e moves
# 0.88 GB with chunks of 768 tokens, 1.15 GB with 512, 2.13 GB with 1,024 and 2.21 GB with one chunk
# (`attnjax rehearse`). A GPU's cache holds the logits of few tokens: they are in memory anyway.
LOGITS = {"tpu": 112 * 2**20, "cuda": 2**30, "rocm": 2**30}

type Totals = dict[str, tuple[jax.Array, jax.Array]]
"""The (sum, count) of each metric, float32 or wider; training minimizes sum / count of "loss"."""


def cross_entropy(
    hidden: jax.Array, table: jax.Array, target: jax.Array, *, smoothing: float
) -> Totals:
    """Return the totals of the label-smoothed cross entropy of softmax(hidden @ table.T).

        loss = (1 - smoothing) * -log p(target)
               + smoothing * mean over the vocabulary of -log p(word)

    Memory is O(chunk * V): the logits of a chunk of tokens exist only while its loss and gradients
    are computed. The gradients are computed in the forward pass: the loss is a sum, so that its
    cotangent is one number, by which the backward pass multiplies them. Without differentiation no
    gradient is computed. There is no forward-mode derivative.

    Hidden vectors [B, T, D] and the table [V, D] give the logits of the targets, integers [B, T];
    PAD is not counted. "loss" and "nll", which is not smoothed, are in nats; "accuracy" counts the
    tokens whose logit is the largest. Only "loss" has a gradient.

    Source: Szegedy et al. 2016, section 7, with a uniform u(k), which Vaswani et al. 2017, section
    5.4, cite. fairseq's label_smoothed_cross_entropy spreads the share over the V - 1 other words:
    its smoothing is this one's times (V - 1) / V.
    """
    batch, length, width = hidden.shape
    tokens = batch * length
    chunk = _chunk_size(tokens, table.shape[0], wide(hidden))
    filler = -tokens % chunk

    def chunked(array: jax.Array, *tail: int) -> jax.Array:
        """Reshape [B, T, ...] to [chunks, chunk, ...]; PAD fills the last chunk."""
        array = jnp.pad(array.reshape(tokens, *tail), ((0, filler),) + ((0, 0),) * len(tail))
        return array.reshape(-1, chunk, *tail)

    loss, *others = _sums(chunked(hidden, width), table, chunked(target), smoothing)
    nll, correct = jax.lax.stop_gradient(others)
    # converted to float before the sum: an integer sum would need a second all-reduce
    number = (target != PAD).astype(loss.dtype).sum()
    return {"loss": (loss, number), "nll": (nll, number), "accuracy": (correct, number)}


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _sums(hidden: jax.Array, table: jax.Array, target: jax.Array, smoothing: float):
    def add(total: jax.Array, chunk: tuple[jax.Array, jax.Array]):
        return total + _chunk(*chunk, table, smoothing)[0], None

    zero = jnp.zeros(3, wide(hidden))
    return tuple(jax.lax.scan(add, zero, (hidden, target))[0])


def _forward(hidden: jax.Array, table: jax.Array, target: jax.Array, smoothing: float):
    def add(carry: tuple[jax.Array, jax.Array], chunk: tuple[jax.Array, jax.Array]):
        total, table_gradient = carry
        sums, difference = _chunk(*chunk, table, smoothing)
        table_gradient += product("nv,nd->vd", difference, chunk[0], wide(hidden))
        return (total + sums, table_gradient), product("nv,vd->nd", difference, table, wide(hidden))

    zero = jnp.zeros(3, wide(hidden)), jnp.zeros(table.shape, wide(hidden))
    (total, table_gradient), hidden_gradient = jax.lax.scan(add, zero, (hidden, target))
    gradients = hidden_gradient.astype(hidden.dtype), table_gradient.astype(table.dtype)
    return tuple(total), gradients


def _backward(smoothing: float, gradients: tuple[jax.Array, jax.Array], cotangents):
    hidden, table = gradients
    smoothed = cotangents[0]
    return hidden * smoothed.astype(hidden.dtype), table * smoothed.astype(table.dtype), None


_sums.defvjp(_forward, _backward)


def _chunk(hidden: jax.Array, target: jax.Array, table: jax.Array, smoothing: float):
    """Return a chunk's sums [3], and the first one's gradient with respect to the logits [N, V].

    The gradient is p - q with the smoothed target q. If it is not used, XLA does not compute it.
    """
    logits = product("nd,vd->nv", hidden, table, wide(hidden))
    live = (target != PAD).astype(logits.dtype)
    largest = logits.max(-1, keepdims=True)
    exponential = jnp.exp(logits - largest)
    normalizer = exponential.sum(-1, keepdims=True)
    log_normalizer = (jnp.log(normalizer) + largest)[..., 0]
    gold = jnp.take_along_axis(logits, target[..., None], -1)[..., 0]

    nll = log_normalizer - gold
    smoothed = (1 - smoothing) * nll + smoothing * (log_normalizer - logits.mean(-1))
    correct = (gold >= largest[..., 0]).astype(logits.dtype)
    sums = (jnp.stack((smoothed, nll, correct), -1) * live[..., None]).sum(0)

    words = table.shape[0]
    is_gold = jnp.arange(words)[None] == target[..., None]
    difference = exponential * (live[..., None] / normalizer) - live[..., None] * (
        (1 - smoothing) * is_gold + smoothing / words
    )
    return sums, difference.astype(hidden.dtype)


def _chunk_size(tokens: int, words: int, dtype: jnp.dtype) -> int:
    """Return the number of tokens of a chunk, for the platform that is compiled for."""
    platform, *others = platforms()
    if others or platform not in LOGITS:
        return min(CHUNK, tokens)
    most = max(1, LOGITS[platform] // (words * dtype.itemsize))
    return -(-tokens // -(-tokens // most))
