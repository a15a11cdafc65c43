"""Statistics of attention weights: saturation, distance, mass, agreement, rollout.

Weights and logits are [..., T, S]. A mask broadcasts to them, True = attend; None: everywhere. A
row in which the mask allows nothing counts nowhere, so a mask can also leave out queries that are
padding; each number is a mean over the other rows, in float32 or wider, NaN if there are none.

Why dot products are divided by sqrt(d_k): with components of query and key independent, of mean 0
and variance 1, their dot product has mean 0 and variance d_k; large logits push the softmax to
where its gradients are extremely small (Vaswani et al. 2017, section 3.2.1 and footnote 4). The
first three functions measure that chain: the logits' variance, the weights' entropy, and the size
of the softmax's derivative.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.nn.dtypes import widen


def logit_variance(logits: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """Return the variance of a row's logits over its n allowed entries.

        sum (s - mean)^2 / (n - 1)

    It is unbiased, so that it does not depend on n; rows with one allowed entry are left out.
    Vaswani et al. 2017, footnote 4: d_k for unscaled dot products, 1 for scaled ones.
    """
    logits, allowed = widen(logits), _allowed(logits, mask)
    count = allowed.sum(-1, keepdims=True)
    mean = jnp.where(allowed, logits, 0).sum(-1, keepdims=True) / jnp.maximum(count, 1)
    square = jnp.where(allowed, (logits - mean) ** 2, 0).sum(-1)
    count = count[..., 0]
    return _mean(square / jnp.maximum(count - 1, 1), count > 1)


def entropy(weights: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """Return the entropy -sum p log p in nats: 0 if one key has all the weight, at most log n."""
    allowed = _allowed(weights, mask)
    p = jnp.where(allowed, widen(weights), 0)
    return _mean(-jax.scipy.special.xlogy(p, p).sum(-1), allowed.any(-1))


def jacobian_norm(weights: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """Return the Frobenius norm of the softmax's Jacobian J = diag(p) - p p^T, without forming it.

        ||J||_F^2 = sum p^2 - 2 sum p^3 + (sum p^2)^2

    0 when one key has all the weight: no gradient reaches the logits.
    """
    allowed = _allowed(weights, mask)
    p = jnp.where(allowed, widen(weights), 0)
    # The closed form subtracts numbers near 1 exactly where its result is near 0, and is wrong
    # by 3e-4 there. Diagonal and off-diagonal entries are summed apart, as products of what is
    # small: (p_i (1 - p_i))^2, and p_i^2 times the squares of the others.
    square = p**2
    diagonal = (square * (1 - p) ** 2).sum(-1)
    largest = jax.nn.one_hot(p.argmax(-1), p.shape[-1], dtype=bool)
    rest = jnp.where(largest, 0, square).sum(-1, keepdims=True)
    others = jnp.where(largest, rest, square.sum(-1, keepdims=True) - square)
    return _mean(jnp.sqrt(diagonal + (square * others).sum(-1)), allowed.any(-1))


def distance(weights: jax.Array, mask: jax.Array) -> jax.Array:
    """Return the mean distance of the attended positions, sum_s p[t, s] |t - s|."""
    T, S = weights.shape[-2:]
    away = jnp.abs(jnp.arange(T)[:, None] - jnp.arange(S)[None])
    # a TPU would round distances beyond 256
    exactly = partial(jnp.einsum, precision=jax.lax.Precision.HIGHEST)
    return _mean(exactly("...ts,ts->...t", widen(weights), away), mask.any(-1))


def mass(weights: jax.Array, mask: jax.Array, keys: jax.Array) -> jax.Array:
    """Sum p[t, s] over the keys that are True in `keys`, which broadcasts to the weights."""
    return _mean(jnp.where(keys, widen(weights), 0).sum(-1), mask.any(-1))


def divergence(weights: jax.Array, others: jax.Array, mask: jax.Array) -> jax.Array:
    """Return the Jensen-Shannon divergence of the rows of two heads or two seeds, in [0, ln 2]."""
    return _mean(jensen_shannon(widen(weights), widen(others)), mask.any(-1))


def jensen_shannon(p: jax.Array, q: jax.Array) -> jax.Array:
    """Return JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2 of rows [..., S], in nats.

    Source: Lin 1991.
    """

    def entropy(p: jax.Array) -> jax.Array:
        positive = jnp.where(p > 0, p, 1)  # log 1 = 0, with a finite gradient
        return -(positive * jnp.log(positive)).sum(-1)

    return entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2


def agreement(heads: jax.Array, mask: jax.Array) -> jax.Array:
    """Return 1 - the mean Jensen-Shannon divergence of two heads / ln 2; 1: all heads are alike.

    Weights are [..., H, T, S]; a single head agrees with itself.
    """
    count = heads.shape[-3]
    pairs = [(i, j) for i in range(count) for j in range(i)]
    if not pairs:
        return jnp.ones(())
    mask = jnp.broadcast_to(mask, heads.shape)[..., 0, :, :]
    gaps = [divergence(heads[..., i, :, :], heads[..., j, :, :], mask) for i, j in pairs]
    return 1 - jnp.stack(gaps).mean() / jnp.log(2.0)


def rollout(layers: Sequence[np.ndarray]) -> np.ndarray:
    """Return the share of each input in each output of a stack of self-attention layers, [T, T].

        R_l = (A_l + I) / 2 R_(l - 1),   R_0 = I

    A_l are the weights of a layer, the mean over its heads; those of the first layer come first.

    Source: Abnar & Zuidema 2020, section 3 (attention rollout).
    """
    product = np.eye(len(layers[0]))
    for weights in layers:
        product = (np.asarray(weights, float) + np.eye(len(weights))) / 2 @ product
    return product


def _allowed(array: jax.Array, mask: jax.Array | None) -> jax.Array:
    return jnp.broadcast_to(True if mask is None else mask, array.shape)


def _mean(rows: jax.Array, counted: jax.Array) -> jax.Array:
    counted = jnp.broadcast_to(counted, rows.shape)
    return jnp.where(counted, rows, 0).sum() / counted.sum()
