"""Biases of logits that are computed from the layer's input."""

from abc import ABC, abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.fused.inputs import SideBias
from attnjax.attention.mask import Causal, Mask, Padding, Segments, Window
from attnjax.attention.masked import zero_hidden
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Allowed, Logits
from attnjax.attention.traits import Expectations
from attnjax.nn.dtypes import widen
from attnjax.nn.linear import Dense


class Bias(Expectations, nn.Module, ABC):
    """A bias that is added to the logits of a score."""

    @abstractmethod
    def prepare(self, inputs: Float[Array, "*#B S D"]) -> Any:
        """Return what the bias needs of the layer's input at each key, leaves [..., S, any]."""

    @nn.nowrap
    def is_fusible(self) -> bool:
        """Return whether the bias has `sides`, which a fused kernel computes, under some masks."""
        return False

    @nn.nowrap
    def sides(
        self,
        prepared: Any,
        mask: Mask,
        positions: Positions,
        queries: int,
        factor: float | jax.Array = 1.0,
    ) -> SideBias | None:
        """Return the bias of T = `queries`, times a factor, as numbers of queries and of keys.

        Positions are as given in the call. None: under this mask it is a bias of pairs.
        """
        return None

    @abstractmethod
    def __call__(self, prepared: Any, allowed: Allowed | None, shape: tuple[int, ...]) -> Logits:
        """Return the bias, which broadcasts to the logits' shape [..., T, S].

        `allowed` are the pairs that the mask allows; None: all.
        """


def forgetting(
    log_gate: Float[Array, "*#B S"], allowed: Allowed | None, shape: tuple[int, ...]
) -> Logits:
    """Sum the logarithms of the gates after a key: bias[t, s] = sum over r > s of log f_r.

    r are the keys that query t may attend to, in the order in which they stand; under `Causal` the
    last is its own. Sums are in float32 or wider. A gate's own key never counts.

    Source: Lin et al. 2025, eq. 4 and 5: d_ts, the sum over r = s + 1, ..., t.
    """
    log_gates = jnp.broadcast_to(widen(log_gate)[..., None, :], shape)
    if allowed is not None:
        log_gates = jnp.where(allowed, log_gates, 0)
    after = jnp.concatenate([log_gates[..., 1:], jnp.zeros_like(log_gates[..., :1])], axis=-1)
    return jax.lax.cumsum(after, axis=after.ndim - 1, reverse=True)


def _split_sums(x: Float[Array, "*B S"]) -> tuple[jax.Array, jax.Array]:
    """Return two arrays whose sum is the cumulated sums of x, and the first exact in differences.

    Sums over a long row are large, and their differences would lose the digits of a few terms. The
    first are these sums, rounded to multiples of one power of two, of which a float holds each
    difference; the second, small, add up what the rounding leaves, and have the gradient.
    """
    plain = jax.lax.stop_gradient(jax.lax.cumsum(x, axis=x.ndim - 1))
    _, exponent = jnp.frexp(jnp.abs(plain).max(-1, keepdims=True, initial=0))
    unit = jnp.ldexp(jnp.ones_like(plain[..., :1]), exponent - jnp.finfo(x.dtype).nmant)
    coarse = jnp.round(plain / unit) * unit
    steps = jnp.diff(coarse, axis=-1, prepend=0)
    return coarse, jax.lax.cumsum(x - steps, axis=x.ndim - 1)


class Forgetting(Bias):
    """`forgetting` with the gates f_s = sigmoid(w . x_s + b): attention with a forget gate.

    At f = 1 nothing is forgotten. b starts at 0.

    Source: Lin et al. 2025 (the forgetting Transformer), section 3.1.
    """

    @nn.compact
    def prepare(self, inputs: Float[Array, "*#B S D"]) -> Float[Array, "*#B S 1"]:
        return jax.nn.log_sigmoid(widen(Dense((1,), name="gate")(inputs)))

    @nn.nowrap
    def is_fusible(self) -> bool:
        return True

    @nn.nowrap
    def sides(
        self,
        prepared: jax.Array,
        mask: Mask,
        positions: Positions,
        queries: int,
        factor: float | jax.Array = 1.0,
    ) -> SideBias | None:
        """Return F_t and -F_s, with F the sums of log-gates up to a word.

        A query sees all keys between a key and its own or the last one, but for padding: under
        `Causal` with windows and packed rows, where both sides have the same words; or under
        `Padding` alone.
        """
        causal = any(isinstance(rule, Causal) for rule in mask.rules())
        packed = any(isinstance(rule, Segments) for rule in mask.rules())
        kinds = (Padding, Causal, Window, Segments) if causal else (Padding,)
        at_query, at_key = positions
        # packed words are numbered anew in each sentence, and stand in a row all the same
        in_order = at_query is at_key and (at_query is None or packed)
        as_many = queries == prepared.shape[-2]
        if not all(isinstance(rule, kinds) for rule in mask.rules()):
            return None
        if causal and not (in_order and as_many):
            return None
        log_gate = zero_hidden(mask, prepared)[..., 0]
        coarse, fine = _split_sums(log_gate * jnp.asarray(factor, log_gate.dtype))
        of_query = [x if causal else jnp.repeat(x[..., -1:], queries, -1) for x in (coarse, fine)]
        return SideBias(of_query[1], -fine, SideBias(of_query[0], -coarse))

    def __call__(self, prepared: Any, allowed: Allowed | None, shape: tuple[int, ...]) -> Logits:
        return forgetting(prepared[..., 0], allowed, shape)
