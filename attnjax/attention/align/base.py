"""Aligns: from logits and a mask to attention weights.

Weights are 0 wherever the mask forbids, and >= 0 unless an align says otherwise. A row that may
attend to nothing has only weights 0, and no gradient: masking by adding -1e30 would give it uniform
weights, and -inf NaN. Each align says what its other rows sum to.
"""

from abc import abstractmethod
from functools import partial
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

from attnjax.attention.position import Positions
from attnjax.attention.shapes import Allowed, Logits, Weights
from attnjax.attention.traits import Fusible
from attnjax.config.constraints import PositiveFloat
from attnjax.nn.dtypes import widen
from attnjax.nn.parameter_kinds import Kind, declare

declare(Kind.UNDECAYED, "log_scale")


def softmax(
    logits: Logits, mask: Allowed | None = None, *, kept: jnp.dtype | None = None
) -> Weights:
    """Return the softmax over the allowed keys.

        weights[t, s] = exp(logits[t, s]) / sum over allowed s' of exp(logits[t, s'])

    Rows sum to 1, in the dtype of the logits. `kept` is the dtype of queries and values: if it is
    narrower, the gradient is computed from the weights in this dtype, which the pool keeps for its
    own gradient anyway. There is no forward-mode derivative then.

    Source: Bahdanau et al. 2015, eq. 6.
    """
    if kept is None or jnp.promote_types(kept, logits.dtype) == kept:
        return jax.nn.softmax(logits, axis=-1, where=mask)
    return _softmax(logits, mask, kept)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def _softmax(logits: jax.Array, mask: jax.Array | None, kept: jnp.dtype) -> jax.Array:
    return softmax(logits, mask)


def _forward(logits: jax.Array, mask: jax.Array | None, kept: jnp.dtype):
    weights = softmax(logits, mask)
    return weights, weights.astype(kept)


def _backward(kept: jnp.dtype, narrow: jax.Array, gradient: jax.Array):
    weights = narrow.astype(gradient.dtype)
    return weights * (gradient - (weights * gradient).sum(-1, keepdims=True)), None


_softmax.defvjp(_forward, _backward)


def normalize(kernel: Logits, mask: Allowed | None = None) -> Weights:
    """Divide by the sum: weights[t, s] = kernel[t, s] / sum over allowed s' of kernel[t, s'].

    The kernel is K(q, k) >= 0, not its logarithm. Rows sum to 1; a row is 0 if the kernel reaches
    no allowed key: if its values are below the dtype's smallest normal number (1e-38 in float32).

    Source: Nadaraya 1964; Watson 1964.
    """
    if mask is not None:
        kernel = jnp.where(mask, kernel, 0)
    # Far from every key all values are tiny, and the squared sum in the quotient's derivative would
    # underflow. Dividing by the largest value changes no weight.
    largest = jax.lax.stop_gradient(kernel.max(-1, keepdims=True, initial=0))
    beyond = largest < jnp.finfo(kernel.dtype).tiny
    kernel = jnp.where(beyond, 0, kernel / jnp.where(beyond, 1, largest))
    return kernel / jnp.where(beyond, 1, kernel.sum(-1, keepdims=True))


def uniform(logits: Logits, mask: Allowed | None = None) -> Weights:
    """Return uniform weights: weights[t, s] = 1 / the number of keys allowed for t.

    Rows sum to 1. The context is the mean of the allowed values. Only the shape and dtype of the
    logits matter.

    Source: Wiegreffe & Pinter 2019 (a baseline); average pooling.
    """
    return softmax(jnp.zeros_like(logits), mask)


class AlignContext(NamedTuple):
    """What an align reads besides logits and mask: queries [..., T, K] and absolute positions."""

    query: jax.Array
    positions: Positions


class Align(Fusible):
    """An align: from logits and a mask to weights."""

    sums_to_one: ClassVar[bool] = True
    """Whether the weights of a row with allowed keys are a distribution: at least 0, of the sum 1.

    Measures that read them as one, such as an entropy, refuse an align of which this is not so."""

    @abstractmethod
    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        """Return the weights [..., T, S]."""

    def factor(self) -> float | jax.Array:
        """Return the factor of the softmax's logits: a number, or a scalar with a gradient."""
        return 1.0

    def sink_logit(self) -> jax.Array | float | None:
        """Return the logit of a key without a value, a scalar, or None: there is none."""
        return None


class Softmax(Align, fusible=True, same_in_every_head=True):
    """`softmax` of the logits divided by a temperature; rows sum to 1.

    The lower the temperature, the nearer the weights are to one key; the higher, to uniform.

    Source: Bahdanau et al. 2015, eq. 6; Hinton et al. 2015, eq. 1 (the temperature).
    """

    temperature: PositiveFloat = 1.0

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        logits = logits if self.temperature == 1 else logits / self.temperature
        return softmax(logits, mask, kept=context.query.dtype)

    def factor(self) -> float:
        return 1 / self.temperature


class LearnedScale(Align, fusible=True):
    """`softmax` of the logits times a learned positive number, at first 1; rows sum to 1.

    Each head has a number of its own. The parameter is its logarithm, so it stays positive.

    Source: Henry et al. 2020, section 3 (the learned g, there shared by all heads).
    """

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        logits = logits * self.factor().astype(logits.dtype)
        return softmax(logits, mask, kept=context.query.dtype)

    @nn.compact
    def factor(self) -> jax.Array:
        return jnp.exp(self.param("log_scale", nn.initializers.zeros, ()))


class Normalize(Align):
    """`normalize` as a part, for scores that are kernels."""

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return normalize(logits, mask)


class Uniform(Align):
    """`uniform` as a part; rows sum to 1."""

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return uniform(logits, mask)


POLYNOMIAL = (-0.037, 0.481, -2.3, 4.917, -1.791)
"""1 / temperature as a function of the entropy in nats, the highest power first."""

SHARP_ENOUGH = 0.5
"""An entropy in nats up to which a softmax is left as it is."""


def adaptive_softmax(logits: Logits, mask: Allowed | None = None) -> Weights:
    """Softmax of theta[t] logits[t, s], where theta[t] grows with the entropy of row t.

        theta = max(1, p(H)) if H > 0.5, else 1;   H = entropy of softmax(logits[t]) in nats

    p is a polynomial of degree 4, fitted by the authors to a maximum over 5 to 64 items. It is
    meant for networks that are trained already: no gradient flows through theta.

    Source: Velickovic et al. 2024, section 5 and their program.
    """
    weights = widen(softmax(logits, mask))
    entropy = jax.scipy.special.entr(weights).sum(-1, keepdims=True)
    theta = jnp.polyval(np.asarray(POLYNOMIAL, entropy.dtype), entropy)
    theta = jnp.where(entropy > SHARP_ENOUGH, jnp.maximum(theta, 1), 1)
    return softmax(jax.lax.stop_gradient(theta).astype(logits.dtype) * logits, mask)


class AdaptiveTemperature(Align):
    """`adaptive_softmax` as a part; rows sum to 1."""

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return adaptive_softmax(logits, mask)
