"""Sparse aligns: weights that are exactly 0 at keys that fit badly, allowed or not.

`sparsemax` and `entmax15` are projections of the logits onto the simplex. Both subtract a threshold
from the logits and set what is below it to 0; the threshold is what makes the rows sum to 1.
"""

from collections.abc import Callable
from functools import partial
from math import prod

import jax
import jax.numpy as jnp

from attnjax.attention.align.base import Align, AlignContext, softmax
from attnjax.attention.shapes import Allowed, Logits, Weights
from attnjax.config.constraints import PositiveInt
from attnjax.errors import UserError
from attnjax.nn.axes import known_length
from attnjax.nn.dtypes import widen

type Project = Callable[[jax.Array], jax.Array]


def sparsemax(logits: Logits, mask: Allowed | None = None) -> Weights:
    """Return sparsemax: weights[t] is the point of the simplex that is nearest to logits[t].

        weights[t, s] = max(logits[t, s] - threshold[t], 0)

    Rows sum to 1.

    Source: Martins & Astudillo 2016, eq. 2 and algorithm 1.
    """
    return _project_allowed(_sparsemax, logits, mask)


def entmax15(logits: Logits, mask: Allowed | None = None) -> Weights:
    """Return 1.5-entmax, between softmax and sparsemax: sparse weights that fall off smoothly.

        weights[t, s] = max(logits[t, s] / 2 - threshold[t], 0)^2

    These are the weights w of the simplex with the largest w . logits[t] + 4/3 (1 - sum over s of
    w[s]^1.5). Rows sum to 1.

    Source: Peters et al. 2019, section 3 and algorithm 2.
    """
    return _project_allowed(_entmax15, logits, mask)


def top_k(logits: Logits, mask: Allowed | None, k: int) -> Weights:
    """Return the `softmax` over the k largest allowed logits of each row, the first of equals.

    Rows sum to 1. Where no more than k keys are allowed, it is `softmax`.

    Raises:
        UserError: k is below 1.

    Source: Zhao et al. 2019, section 2 (Explicit Sparse Transformer).
    """
    if k < 1:
        raise UserError(f"the k of top_k must be at least 1; got {k}")
    ranked = logits if mask is None else jnp.where(mask, logits, -jnp.inf)
    keys = known_length(logits.shape[-1], "the align TopK")
    _, largest = jax.lax.top_k(jax.lax.stop_gradient(ranked), min(k, keys))
    rows = prod(logits.shape[:-1])
    put = jax.vmap(lambda row, at: row.at[at].set(True))
    kept = put(jnp.zeros((rows, keys), bool), largest.reshape(rows, min(k, keys)))
    kept = kept.reshape(logits.shape)
    return softmax(logits, kept if mask is None else kept & mask)


def _project_allowed(project: Project, logits: jax.Array, mask: jax.Array | None) -> jax.Array:
    """Return the weights of the allowed logits alone; a row that may attend to nothing is 0.

    They are computed in float32 or wider: in bfloat16 no count of keys passes 256.
    """
    mask = jnp.ones(logits.shape, bool) if mask is None else jnp.broadcast_to(mask, logits.shape)
    tame = widen(jnp.where(mask, logits, 0))
    largest = tame.max(-1, keepdims=True, where=mask, initial=jnp.finfo(tame.dtype).min)
    below = jnp.maximum(tame - jax.lax.stop_gradient(largest), LOWEST)
    weights = project(jnp.where(mask, below, LOWEST))
    return jnp.where(mask, weights, 0).astype(logits.dtype)


LOWEST = -4.0
"""A logit 4 below the row's largest has the weight 0 in both projections: sparsemax's threshold is
at least the largest logit - 1, that of 1.5-entmax half the largest logit - 1. So lower logits are
raised to it, and no sum of them overflows. Subtracting the largest moves no weight."""


@jax.custom_jvp
def _sparsemax(logits: jax.Array) -> jax.Array:
    """Return the `sparsemax` of logits that are at most 0, the largest 0."""
    largest = jnp.flip(jnp.sort(logits, axis=-1), -1)
    support = largest > (jnp.cumsum(largest, -1) - 1) / _counts(largest)
    support = logits >= _smallest(largest, support)
    # Not from the running sum, whose rounding errors grow with the number of keys.
    total = logits.sum(-1, keepdims=True, where=support)
    threshold = (total - 1) / support.sum(-1, keepdims=True)
    return jnp.maximum(logits - threshold, 0)


@jax.custom_jvp
def _entmax15(logits: jax.Array) -> jax.Array:
    """Return the `entmax15` of logits that are at most 0, the largest 0."""
    half = logits / 2
    largest = jnp.flip(jnp.sort(half, axis=-1), -1)
    count = _counts(largest)
    mean = jnp.cumsum(largest, -1) / count
    spread = jnp.cumsum(largest**2, -1) - count * mean**2
    support = largest >= mean - jnp.sqrt(jnp.maximum(1 - spread, 0) / count)
    support = half >= _smallest(largest, support)
    count = support.sum(-1, keepdims=True)
    mean = half.sum(-1, keepdims=True, where=support) / count
    spread = ((half - mean) ** 2).sum(-1, keepdims=True, where=support)
    threshold = mean - jnp.sqrt(jnp.maximum(1 - spread, 0) / count)
    return jnp.maximum(half - threshold, 0) ** 2


def _counts(largest: jax.Array) -> jax.Array:
    """Return 1, 2, ..., S along the last axis, in the shape and dtype of the array."""
    return jax.lax.broadcasted_iota(largest.dtype, largest.shape, largest.ndim - 1) + 1


def _smallest(largest: jax.Array, support: jax.Array) -> jax.Array:
    """Return the smallest number of the support, of numbers [..., S] in falling order: [..., 1]."""
    return jnp.take_along_axis(largest, support.sum(-1, keepdims=True) - 1, axis=-1)


def _derivative(
    project: Project, speeds: Project, primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    """Return the weights, and their change v (dz - v . dz / sum v) as the logits change by dz.

    `speeds` gives v of the weights: weights^(2 - alpha) on the support, 0 elsewhere.

    Source: Peters et al. 2019, section 3 (the Jacobian of alpha-entmax); of sparsemax, Martins &
    Astudillo 2016, section 2.5.
    """
    weights = project(*primals)
    speed = speeds(weights)
    mean = (speed * tangents[0]).sum(-1, keepdims=True) / speed.sum(-1, keepdims=True)
    return weights, speed * (tangents[0] - mean)


def _root(weights: jax.Array) -> jax.Array:
    """Return the square roots of weights; the derivative is 0, not infinity, where they are 0."""
    support = weights > 0
    return jnp.where(support, jnp.sqrt(jnp.where(support, weights, 1)), 0)


_sparsemax.defjvp(partial(_derivative, _sparsemax, jnp.sign))
_entmax15.defjvp(partial(_derivative, _entmax15, _root))


class Sparsemax(Align):
    """`sparsemax` as a part; rows sum to 1, and most weights are exactly 0."""

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return sparsemax(logits, mask)


class Entmax15(Align):
    """`entmax15` as a part; rows sum to 1, and many weights are exactly 0."""

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return entmax15(logits, mask)


class TopK(Align):
    """`top_k` as a part; rows sum to 1. The keys that are left out have no gradient."""

    k: PositiveInt = 8

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return top_k(logits, mask, self.k)
