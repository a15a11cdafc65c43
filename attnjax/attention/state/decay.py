"""Decays: how fast a recurrent attention forgets, as parts.

A decay reads the layer's input, from which keys and values are projected, too.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.config.constraints import PositiveFloat, PositiveInt
from attnjax.nn.axes import head_number
from attnjax.nn.dtypes import wide, widen
from attnjax.nn.linear import Dense
from attnjax.nn.parameter_kinds import Kind, declare

declare(Kind.UNDECAYED, "log_rate")

Inputs = Float[Array, "*#B S D"]
"""The layer's input at each word."""


class Decayed(NamedTuple):
    """How words change a state before they are written.

    Attributes:
        log_decay: log a_t, at most 0; [..., S, 1], or [..., S, K]: a decay for each feature.
        strength: [..., S, 1], by which a decay multiplies what is written.
    """

    log_decay: jax.Array
    strength: jax.Array


class Decay(nn.Module, ABC):
    """The decay of the state at each word."""

    @abstractmethod
    def __call__(self, inputs: Inputs, width: int) -> Decayed:
        """Return the decays at words, for keys of a width K."""


class NoDecay(Decay):
    """a = 1: nothing is forgotten."""

    @nn.compact
    def __call__(self, inputs: Inputs, width: int) -> Decayed:
        one = jnp.ones((*inputs.shape[:-1], 1), wide(inputs))
        return Decayed(jnp.zeros_like(one), one)


class HeadDecay(Decay):
    """a = 1 - 2^(-5 - h), a constant of each head h = 0, 1, ...; outside `MultiHead` h = 0.

    Source: Sun et al. 2023 (RetNet), section 2.2, eq. 8.
    """

    @nn.compact
    def __call__(self, inputs: Inputs, width: int) -> Decayed:
        head, heads = head_number()
        log_decays = jnp.asarray(np.log1p(-(2.0 ** (-5.0 - np.arange(heads)))), wide(inputs))
        one = jnp.ones((*inputs.shape[:-1], 1), wide(inputs))
        return Decayed(log_decays[head] * one, one)


class WordDecay(Decay):
    """A decay for each word: log a_t = -A softplus(w . x_t + b), with A > 0 learned.

    A starts uniform in [1, 16], softplus(b) log-uniform in [0.001, 0.1]. With `discretized`, a word
    is also written with the strength softplus(w . x_t + b), its step of time.

    Source: Dao and Gu 2024 (Mamba-2), section 6 and their program; Yang et al. 2025 (gated delta
    networks), where the strength is the delta rule's own.
    """

    discretized: bool = False

    @nn.compact
    def __call__(self, inputs: Inputs, width: int) -> Decayed:
        step, log_decay = _discrete_steps(self, inputs, 1)
        return Decayed(log_decay, step if self.discretized else jnp.ones_like(step))


class FeatureDecay(Decay):
    """A decay for each feature of the keys: log a_t = -A softplus(W x_t + b), with A > 0 learned.

    Source: Kimi Team 2025 (Kimi delta attention), there W of a low rank; initial values as
    `WordDecay`.
    """

    @nn.compact
    def __call__(self, inputs: Inputs, width: int) -> Decayed:
        step, log_decay = _discrete_steps(self, inputs, width)
        return Decayed(log_decay, jnp.ones_like(step[..., :1]))


class SigmoidDecay(Decay):
    """A decay for each feature of the keys: a_t = sigmoid(W_2 W_1 x_t + b)^(1 / temperature).

    Source: Yang et al. 2024a (gated linear attention), section 4.4; there rank and temperature are
    16.
    """

    rank: PositiveInt = 16
    temperature: PositiveFloat = 16.0

    @nn.compact
    def __call__(self, inputs: Inputs, width: int) -> Decayed:
        low = Dense((self.rank,), bias=False, name="low")(inputs)
        gate = widen(Dense((width,), name="gate")(low))
        one = jnp.ones((*inputs.shape[:-1], 1), gate.dtype)
        return Decayed(jax.nn.log_sigmoid(gate) / self.temperature, one)


def _discrete_steps(decay: Decay, inputs: jax.Array, width: int) -> tuple[jax.Array, jax.Array]:
    """Return softplus(W x + b) and -A softplus(W x + b), [..., S, width]."""

    def initial_bias(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        step = jnp.exp(jax.random.uniform(key, shape, minval=np.log(1e-3), maxval=np.log(0.1)))
        return jnp.log(jnp.expm1(step))

    def initial_rate(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        return jnp.log(jax.random.uniform(key, shape, minval=1.0, maxval=16.0))

    projected = widen(Dense((width,), bias=False, name="step")(inputs))
    bias = decay.param("bias", initial_bias, (width,))
    rate = jnp.exp(decay.param("log_rate", initial_rate, ()))
    step = jax.nn.softplus(projected + jnp.broadcast_to(bias, projected.shape))
    return step, -rate * step
