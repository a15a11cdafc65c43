"""Aligns: from logits and a mask to attention weights.

Weights are >= 0, and 0 wherever the mask forbids. A row that may attend to nothing has only weights
0, and no gradient: masking by adding -1e30 would give it uniform weights, and -inf NaN. Each align
says what its other rows sum to.
"""

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from annotated_types import Gt
from flax import linen as nn

from attnjax.attention.mask import Window
from attnjax.attention.position import Positions
from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.errors import UserError
from attnjax.nn.linear import Dense


def softmax(logits: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """Softmax: weights[t, s] = exp(logits[t, s]) / sum over allowed s' of exp(logits[t, s']).

    Rows sum to 1.

    Args:
        logits: [..., T, S].
        mask: booleans that broadcast to [..., T, S], True = attend; None allows everything.

    Returns:
        [..., T, S] in the dtype of the logits.

    Source: Bahdanau et al. 2015, eq. 6.
    """
    return jax.nn.softmax(logits, axis=-1, where=mask)


def normalize(kernel: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """Divide by the sum: weights[t, s] = kernel[t, s] / sum over allowed s' of kernel[t, s'].

    Rows sum to 1. A row is 0 if the kernel reaches no allowed key: if all its values are below the
    dtype's smallest normal number (1e-38 in float32). Shapes as in `softmax`.

    Args:
        kernel: K(q, k) >= 0, not its logarithm.
        mask: as in `softmax`.

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


def uniform(logits: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """Uniform weights: weights[t, s] = 1 / the number of keys allowed for t; rows sum to 1.

    The context is the mean of the allowed values. Only the shape and dtype of the logits matter;
    shapes as in `softmax`.

    Source: Wiegreffe & Pinter 2019 (a baseline); average pooling.
    """
    return softmax(jnp.zeros_like(logits), mask)


def local_monotonic(
    logits: jax.Array,
    mask: jax.Array | None,
    positions: Positions,
    reach: int,
) -> jax.Array:
    """`softmax` over the keys at most `reach` positions from the query's own, p_t = t.

    Rows sum to 1, or to 0 if no allowed key is in reach.

    Args:
        logits: [..., T, S].
        mask: as in `softmax`.
        positions: t and s, absolute, integers [..., T] and [..., S].
        reach: D of |s - t| <= D, at least 0.

    Raises:
        UserError: the reach is negative.

    Source: Luong et al. 2015, section 3.2, "local-m".
    """
    return softmax(logits, _near(mask, positions, reach))


def local_predictive(
    logits: jax.Array,
    mask: jax.Array | None,
    center: jax.Array,
    key_position: jax.Array,
    reach: int,
    sigma: float,
) -> jax.Array:
    """Local attention: weights[t, s] = softmax(logits[t])[s] exp(-(s - p_t)^2 / (2 sigma^2)).

    The softmax is over the allowed keys with |s - p_t| <= reach. It does not contain the Gaussian,
    so rows sum to at most 1, and to 0 if no allowed key is in reach. An infinite sigma makes the
    Gaussian 1.

    Args:
        logits: [..., T, S].
        mask: as in `softmax`.
        center: p_t, a real position, [..., T].
        key_position: s, absolute, integers [..., S].
        reach: D.
        sigma: in positions.

    Raises:
        UserError: the reach is negative, or sigma is not above 0.

    Source: Luong et al. 2015, eq. 10.
    """
    if not sigma > 0:
        raise UserError(
            f"the sigma of local attention must be above 0; got {sigma} (None means reach / 2)"
        )
    distance = key_position[..., None, :] - center[..., :, None]
    gaussian = jnp.exp(-(distance**2) / (2 * sigma**2))
    window = softmax(logits, _near(mask, Positions(center, key_position), reach))
    return window * gaussian.astype(logits.dtype)


def predicted_center(hidden: jax.Array, v: jax.Array, length: jax.Array | int) -> jax.Array:
    """Predicted window center: p_t = length[t] sigmoid(v . tanh(hidden[t])), a real position.

    Args:
        hidden: W h_t, already projected, [..., T, W].
        v: [W].
        length: S, how many keys the row may attend to, [..., T].

    Returns:
        [..., T] in float32 or wider, as half precision rounds positions past 256 to integers.

    Source: Luong et al. 2015, eq. 9.
    """
    wide = jnp.promote_types(hidden.dtype, jnp.float32)
    logit = jnp.einsum("...tw,w->...t", jnp.tanh(hidden), v, preferred_element_type=wide)
    return length * jax.nn.sigmoid(logit)


def _near(mask: jax.Array | None, positions: Positions, reach: int) -> jax.Array:
    """The allowed keys at most `reach` positions from each query's."""
    near = Window(reach, reach).dense(positions)
    return near if mask is None else mask & near


class AlignContext(NamedTuple):
    """What an align may know besides the logits.

    Attributes:
        query: [..., T, K].
        positions: absolute, integers that broadcast to [..., T] and [..., S].
    """

    query: jax.Array
    positions: Positions


class Align(nn.Module, ABC):
    """An align: from logits and a mask to weights.

    Attributes:
        is_softmax: whether the weights are `softmax` and nothing else, which a fused kernel can
            compute. Not inherited by a subclass that computes weights of its own.
    """

    is_softmax: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Let a subclass that computes its own weights be no softmax until it says so."""
        super().__init_subclass__(**options)
        if "__call__" in vars(cls) and "is_softmax" not in vars(cls):
            cls.is_softmax = False

    @abstractmethod
    def __call__(
        self, logits: jax.Array, mask: jax.Array | None, context: AlignContext
    ) -> jax.Array:
        """Logits and booleans, both [..., T, S] -> weights [..., T, S]."""


class Softmax(Align):
    """`softmax` as a part; rows sum to 1."""

    is_softmax = True

    def __call__(
        self, logits: jax.Array, mask: jax.Array | None, context: AlignContext
    ) -> jax.Array:
        """Return [..., T, S]."""
        return softmax(logits, mask)


class Normalize(Align):
    """`normalize` as a part, for scores that are kernels.

    Rows sum to 1, or to 0 if the kernel reaches no allowed key.
    """

    def __call__(
        self, logits: jax.Array, mask: jax.Array | None, context: AlignContext
    ) -> jax.Array:
        """Return [..., T, S]; the logits are the kernel's values, >= 0."""
        return normalize(logits, mask)


class Uniform(Align):
    """`uniform` as a part; rows sum to 1."""

    def __call__(
        self, logits: jax.Array, mask: jax.Array | None, context: AlignContext
    ) -> jax.Array:
        """Return [..., T, S]."""
        return uniform(logits, mask)


class LocalMonotonic(Align):
    """`local_monotonic` as a part; rows sum to 1, or to 0 if no allowed key is in reach.

    Attributes:
        reach: D, the largest distance of a key from the query's own position.
    """

    reach: NonNegativeInt = 10

    def __call__(
        self, logits: jax.Array, mask: jax.Array | None, context: AlignContext
    ) -> jax.Array:
        """Return [..., T, S]."""
        return local_monotonic(logits, mask, context.positions, self.reach)


class LocalPredictive(Align):
    """`local_predictive` around the center that `predicted_center` computes from the query.

    Rows sum to at most 1, and to 0 if no allowed key is in reach. The length S of a row is the
    number of keys that the mask allows, so padding does not move the center. The window's edge has
    no
    gradient: W and v learn through the Gaussian alone, and not at all if sigma is infinite.

    Attributes:
        reach: D, the largest distance of a key from the center.
        width: of the hidden layer; None means the query's width.
        sigma: in positions; None means D / 2, as in the paper.
    """

    reach: NonNegativeInt = 10
    width: PositiveInt | None = None
    sigma: Annotated[float, Gt(0)] | None = None

    @nn.compact
    def __call__(
        self, logits: jax.Array, mask: jax.Array | None, context: AlignContext
    ) -> jax.Array:
        """Return [..., T, S]."""
        width = self.width or context.query.shape[-1]
        hidden = Dense((width,), bias=False, name="hidden")(context.query)
        v = self.param("v", nn.initializers.normal(width**-0.5), (width,))
        length = logits.shape[-1] if mask is None else mask.sum(-1)
        center = predicted_center(hidden, v, length)
        sigma = self.reach / 2 if self.sigma is None else self.sigma
        return local_predictive(logits, mask, center, context.positions.key, self.reach, sigma)
