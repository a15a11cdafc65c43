"""Biases of logits that are computed from the layer's input."""

from abc import ABC, abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.shapes import Allowed, Logits
from attnjax.attention.traits import Expectations
from attnjax.nn.dtypes import widen
from attnjax.nn.linear import Dense


class Bias(Expectations, nn.Module, ABC):
    """A bias that is added to the logits of a score."""

    @abstractmethod
    def prepare(self, inputs: Float[Array, "*#B S D"]) -> Any:
        """Return what the bias needs of the layer's input at each key, leaves [..., S, any]."""

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


class Forgetting(Bias):
    """`forgetting` with the gates f_s = sigmoid(w . x_s + b): attention with a forget gate.

    At f = 1 nothing is forgotten. b starts at 0.

    Source: Lin et al. 2025 (the forgetting Transformer), section 3.1.
    """

    @nn.compact
    def prepare(self, inputs: Float[Array, "*#B S D"]) -> Float[Array, "*#B S 1"]:
        return jax.nn.log_sigmoid(widen(Dense((1,), name="gate")(inputs)))

    def __call__(self, prepared: Any, allowed: Allowed | None, shape: tuple[int, ...]) -> Logits:
        return forgetting(prepared[..., 0], allowed, shape)
