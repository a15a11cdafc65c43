"""Numbers of attention weights: distance, mass, agreement, rollout.

Weights are [..., T, S], a mask broadcasts to them, True = attend. A row in which the mask allows
nothing counts nowhere; each number is a mean over the other rows. `measures.saturation` has the
entropy.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.nn.dtypes import widen


def distance(weights: jax.Array, mask: jax.Array) -> jax.Array:
    """sum_s p[t, s] |t - s|: how many places away the weights lie."""
    T, S = weights.shape[-2:]
    away = jnp.abs(jnp.arange(T)[:, None] - jnp.arange(S)[None])
    return _mean(jnp.einsum("...ts,ts->...t", widen(weights), away), mask)


def mass(weights: jax.Array, mask: jax.Array, keys: jax.Array) -> jax.Array:
    """Sum of p[t, s] over the keys that are True in `keys`, which broadcasts to the weights."""
    return _mean(jnp.where(keys, widen(weights), 0).sum(-1), mask)


def divergence(weights: jax.Array, others: jax.Array, mask: jax.Array) -> jax.Array:
    """The Jensen-Shannon divergence of the rows of two heads, or of two seeds, in [0, ln 2]."""
    return _mean(jensen_shannon(widen(weights), widen(others)), mask)


def jensen_shannon(p: jax.Array, q: jax.Array) -> jax.Array:
    """JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2 of rows [..., S], in nats.

    Source: Lin 1991.
    """

    def entropy(p: jax.Array) -> jax.Array:
        positive = jnp.where(p > 0, p, 1)  # log 1 = 0, with a finite gradient
        return -(positive * jnp.log(positive)).sum(-1)

    return entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2


def agreement(heads: jax.Array, mask: jax.Array) -> jax.Array:
    """1 - the mean Jensen-Shannon divergence of two heads over ln 2: 1 if all heads look alike.

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
    """How much of each input stands in each output of several layers of self-attention, [T, T].

        R_l = (A_l + I) / 2 R_(l - 1),   R_0 = I

    A_l are the weights of a layer, the mean over its heads; those of the first layer come first.

    Source: Abnar & Zuidema 2020, section 3 (attention rollout).
    """
    product = np.eye(len(layers[0]))
    for weights in layers:
        product = (np.asarray(weights, float) + np.eye(len(weights))) / 2 @ product
    return product


def _mean(rows: jax.Array, mask: jax.Array) -> jax.Array:
    counted = jnp.broadcast_to(mask.any(-1), rows.shape)
    return jnp.where(counted, rows, 0).sum() / counted.sum()
