"""Aligns whose rows may sum to less or more than 1: a query need not attend to anything.

A softmax must give all of its weight to some keys. Where nothing fits, trained models give it to
the first word, a "sink" (Xiao et al. 2024). Here a row may be nearly 0 although keys are allowed.
"""

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.align.base import Align, AlignContext, softmax
from attnjax.attention.position import AnyArray
from attnjax.attention.shapes import Allowed, Logits, Weights
from attnjax.nn.dtypes import widen
from attnjax.nn.parameter_kinds import Kind, declare

declare(Kind.UNDECAYED, "sink")


EPSILON = 1e-8
"""Added to the sum by which softpick divides, relative to the largest exponential."""


def softmax_with_sink(
    logits: Logits,
    mask: Allowed | None,
    sink: jax.Array | float,
    *,
    kept: jnp.dtype | None = None,
) -> Weights:
    """Return a softmax with one more logit, the sink z, whose weight is left out.

        weights[t, s] = exp(logits[t, s]) / (exp(z) + sum over allowed s' of exp(logits[t, s']))

    The sink, a number, stands for a key without a value: rows sum to less than 1. At z = 0 it is
    "softmax off by one", at -inf the softmax. `kept` as in `softmax`.

    Source: Miller 2023 (z = 0); OpenAI 2025, gpt-oss (a learned z in each head).
    """
    column = jnp.broadcast_to(jnp.asarray(sink, logits.dtype), (*logits.shape[:-1], 1))
    if mask is not None:
        mask = jnp.concatenate([mask, jnp.ones_like(column, bool)], axis=-1)
    return softmax(jnp.concatenate([logits, column], axis=-1), mask, kept=kept)[..., :-1]


def sigmoid(logits: Logits, mask: Allowed | None = None, bias: float | None = None) -> Weights:
    """Compute each weight by itself: weights[t, s] = 1 / (1 + exp(-logits[t, s] - b)).

    The bias b is a number or, if None, -ln n[t], where n[t] keys are allowed: logits of 0 then give
    rows that sum to n / (n + 1). Rows sum to a number between 0 and n.

    Source: Ramapuram et al. 2024 (b = -ln n, of the length of the sequence there).
    """
    if bias is None:
        count = logits.shape[-1] if mask is None else mask.sum(-1, keepdims=True)
        logits = logits - jnp.log(jnp.maximum(count, 1).astype(logits.dtype))
    else:
        logits = logits + bias
    if mask is None:
        return jax.nn.sigmoid(logits)
    # a forbidden logit may be anything, also in the gradient
    return jnp.where(mask, jax.nn.sigmoid(jnp.where(mask, logits, 0)), 0)


def rectified(logits: Logits, mask: Allowed | None = None) -> Weights:
    """Compute each weight by itself: weights[t, s] = max(logits[t, s], 0) / n[t].

    n[t] keys are allowed. A row of logits below 0 is 0, without a gradient; no number bounds a
    weight, nor the sum of a row, and float16 may overflow.

    Source: Wortsman et al. 2023, with the length of the sequence as n; Guo et al. 2024, whose
    program divides by n[t].
    """
    allowed = jnp.ones(logits.shape, bool) if mask is None else mask
    # a forbidden logit may be anything, also in the gradient
    positive = jax.nn.relu(jnp.where(allowed, logits, 0))
    return positive / jnp.maximum(allowed.sum(-1, keepdims=True), 1).astype(logits.dtype)


def softpick(logits: Logits, mask: Allowed | None = None) -> Weights:
    """Return softpick, a rectified softmax.

        weights[t, s] = max(e[t, s], 0) / (sum over s' of |e[t, s']| + epsilon)
        e[t, s] = exp(logits[t, s] - m[t]) - exp(-m[t]),   m[t] = max(0, largest allowed logit)

    A key with a logit below 0 has the weight 0, and makes those of the others smaller. Rows sum to
    at most 1; a row without a logit above 0 is 0, without a gradient. epsilon is 1e-8.

    Source: Zuhri et al. 2025.
    """
    # a forbidden key counts as exp(0) - 1 = 0
    tame = widen(logits if mask is None else jnp.where(mask, logits, 0))
    highest = jax.lax.stop_gradient(tame.max(-1, keepdims=True, initial=0))
    excess = jnp.exp(tame - highest) - jnp.exp(-highest)
    weights = jax.nn.relu(excess) / (jnp.abs(excess).sum(-1, keepdims=True) + EPSILON)
    return weights.astype(logits.dtype)


def stick_breaking(logits: Logits, mask: Allowed | None, key_position: AnyArray) -> Weights:
    """Break a stick, from the last key to the first: each takes its share of what is left.

        weights[t, s] = share[t, s] times the product over r after s of (1 - share[t, r])
        share[t, s] = 1 / (1 + exp(-logits[t, s]))

    s and r are allowed keys, in the order of their positions [..., S]; under `Causal` the nearest
    key is the first to take. Rows sum to at most 1. Products are sums of logarithms, in float32 or
    wider.

    Source: Tan et al. 2024; there the query's own key is left out, which is a mask.
    """
    allowed = jnp.ones(logits.shape, bool) if mask is None else mask
    order = jnp.argsort(jnp.broadcast_to(key_position, (*logits.shape[:-2], logits.shape[-1])))
    inverse = jnp.argsort(order, axis=-1)
    tame = widen(jnp.where(allowed, logits, 0))
    left = jnp.where(allowed, jax.nn.log_sigmoid(-tame), 0)
    left = jnp.take_along_axis(left, order[..., None, :], axis=-1)
    # a key's own share is left out by a shift: to subtract it again would cancel
    after = jnp.concatenate([left[..., 1:], jnp.zeros_like(left[..., :1])], axis=-1)
    after = jax.lax.cumsum(after, axis=after.ndim - 1, reverse=True)
    after = jnp.take_along_axis(after, inverse[..., None, :], axis=-1)
    weights = jnp.where(allowed, jnp.exp(jax.nn.log_sigmoid(tame) + after), 0)
    return weights.astype(logits.dtype)


class OpenAlign(Align):
    """An align whose rows may be nearly 0 although keys are allowed."""

    may_be_zero = True
    sums_to_one = False


class OffByOne(OpenAlign, fusible=True, same_in_every_head=True):
    """`softmax_with_sink` with the sink 0; rows sum to less than 1."""

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return softmax_with_sink(logits, mask, 0.0, kept=context.query.dtype)

    def sink_logit(self) -> float:
        return 0.0


class Sink(OpenAlign, fusible=True):
    """`softmax_with_sink` with a learned sink, at first 0; rows sum to less than 1.

    Each head has a sink of its own.
    """

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return softmax_with_sink(logits, mask, self.sink_logit(), kept=context.query.dtype)

    @nn.compact
    def sink_logit(self) -> jax.Array:
        return self.param("sink", nn.initializers.zeros, ())


class Sigmoid(OpenAlign):
    """`sigmoid` as a part; rows sum to a number between 0 and that of the allowed keys."""

    bias: float | None = None

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return sigmoid(logits, mask, self.bias)


class ReLU(OpenAlign):
    """`rectified` as a part; rows sum to any number that is not negative."""

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return rectified(logits, mask)


class Softpick(OpenAlign):
    """`softpick` as a part; rows sum to at most 1."""

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return softpick(logits, mask)


class StickBreaking(OpenAlign):
    """`stick_breaking` as a part; rows sum to at most 1."""

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return stick_breaking(logits, mask, context.positions.key)
