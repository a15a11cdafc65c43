"""Local aligns: weights of the keys near a position, the query's own or one that it predicts."""

from typing import Annotated

import jax
import jax.numpy as jnp
from annotated_types import Gt
from flax import linen as nn
from jaxtyping import Array, Float, Int

from attnjax.attention.align.base import Align, AlignContext, softmax
from attnjax.attention.mask import Window
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Allowed, Logits, Weights
from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.errors import UserError
from attnjax.nn.dtypes import wide
from attnjax.nn.linear import Dense


def local_monotonic(
    logits: Logits, mask: Allowed | None, positions: Positions, reach: int
) -> Weights:
    """Return the `softmax` over the keys at most `reach` positions from the query's own, p_t = t.

    Rows sum to 1, or to 0 if no allowed key is in reach. The positions t and s are absolute; the
    reach is D of |s - t| <= D.

    Raises:
        UserError: the reach is negative.

    Source: Luong et al. 2015, section 3.2, "local-m".
    """
    return softmax(logits, _near(mask, positions, reach))


def local_predictive(
    logits: Logits,
    mask: Allowed | None,
    center: Float[Array, "*#B T"],
    key_position: Int[Array, "*#B S"],
    reach: int,
    sigma: float,
) -> Weights:
    """Weight a softmax over the keys near a center p_t by a Gaussian around it.

        weights[t, s] = softmax(logits[t])[s] exp(-(s - p_t)^2 / (2 sigma^2))

    The softmax is over the allowed keys with |s - p_t| <= reach. It does not contain the Gaussian,
    so rows sum to at most 1, and to 0 if no allowed key is in reach. An infinite sigma makes the
    Gaussian 1. The centers p_t are real positions, the reach and sigma are in positions.

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


def predicted_center(
    hidden: Float[Array, "*#B T W"], v: Float[Array, " W"], length: Int[Array, "*#B T"] | int
) -> Float[Array, "*#B T"]:
    """Predict a window's center: p_t = length[t] sigmoid(v . tanh(hidden[t])), a real position.

    `hidden` is W h_t, already projected; the length S of a row is the number of keys that it may
    attend to. The center is in float32 or wider, as half precision rounds positions past 256 to
    integers.

    Source: Luong et al. 2015, eq. 9.
    """
    logit = jnp.einsum("...tw,w->...t", jnp.tanh(hidden), v, preferred_element_type=wide(hidden))
    return length * jax.nn.sigmoid(logit)


def _near(mask: jax.Array | None, positions: Positions, reach: int) -> jax.Array:
    """Return the allowed keys at most `reach` positions from each query's."""
    near = Window(reach, reach).dense(positions)
    return near if mask is None else mask & near


class LocalMonotonic(Align):
    """`local_monotonic` as a part; rows sum to 1, or to 0 if no allowed key is in reach."""

    reach: NonNegativeInt = 10

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return local_monotonic(logits, mask, context.positions, self.reach)


class LocalPredictive(Align):
    """`local_predictive` around the center that `predicted_center` computes from the query.

    The length S of a row is the number of keys that the mask allows, so padding does not move the
    center. The window's edge has no gradient: W and v learn through the Gaussian alone, and not at
    all if sigma is infinite.

    Attributes:
        reach: D, the largest distance of a key from the center.
        width: of the hidden layer; None means the query's width.
        sigma: in positions; None means D / 2, as in the paper.
    """

    uses_absolute_positions = True
    sums_to_one = False

    reach: NonNegativeInt = 10
    width: PositiveInt | None = None
    sigma: Annotated[float, Gt(0)] | None = None

    @nn.compact
    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        width = self.width or context.query.shape[-1]
        hidden = Dense((width,), bias=False, name="hidden")(context.query)
        v = self.param("v", nn.initializers.normal(width**-0.5), (width,))
        length = logits.shape[-1] if mask is None else mask.sum(-1)
        center = predicted_center(hidden, v, length)
        sigma = self.reach / 2 if self.sigma is None else self.sigma
        return local_predictive(logits, mask, center, context.positions.key, self.reach, sigma)
