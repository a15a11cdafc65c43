"""Which keys, and how much of each: logits, mask -> weights.

Weights are >= 0 and 0 wherever the mask forbids. A row that may attend to nothing gets the
weight 0 everywhere, and the gradient 0: neither uniform weights (what -1e30 in place of the mask
gives) nor NaN (what -inf gives). Each align says what its other rows sum to.
"""

from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
from annotated_types import Gt
from flax import linen as nn

from attnjax.attention.mask import Window
from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.errors import UserError
from attnjax.nn.linear import Dense


def softmax(logits: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """weights[t, s] = exp(logits[t, s]) / sum over allowed s' of exp(logits[t, s']); rows sum to 1.

    Args:
        logits: [..., T, S].
        mask: booleans that broadcast to [..., T, S], True = attend; None allows everything.

    Returns:
        [..., T, S] in the dtype of the logits.

    Source: Bahdanau et al. 2015, eq. 6.
    """
    return jax.nn.softmax(logits, axis=-1, where=mask)


def normalise(kernel: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """weights[t, s] = kernel[t, s] / sum over allowed s' of kernel[t, s']; shapes as in `softmax`.

    Rows sum to 1, or are 0 where the kernel reaches no allowed key: where none of its values is a
    normal number of its dtype (1e-38 in float32).

    Args:
        kernel: K(q, k) >= 0; it is meant as it is, not as a logarithm.
        mask: as in `softmax`.

    Source: Nadaraya 1964; Watson 1964.
    """
    if mask is not None:
        kernel = jnp.where(mask, kernel, 0)
    # Far from every key all values are tiny. The weights do not depend on their size, but the
    # square of their sum, which the derivative of a quotient has, would underflow.
    largest = jax.lax.stop_gradient(kernel.max(-1, keepdims=True, initial=0))
    beyond = largest < jnp.finfo(kernel.dtype).tiny
    kernel = jnp.where(beyond, 0, kernel / jnp.where(beyond, 1, largest))
    return kernel / jnp.where(beyond, 1, kernel.sum(-1, keepdims=True))


def uniform(logits: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """weights[t, s] = 1 / the number of allowed keys; the context is their mean; rows sum to 1.

    Only the shape and dtype of the logits matter; shapes as in `softmax`.

    Source: Wiegreffe & Pinter 2019, whose baseline it is; average pooling.
    """
    return softmax(jnp.zeros_like(logits), mask)


def local_monotonic(
    logits: jax.Array,
    mask: jax.Array | None,
    query_position: jax.Array,
    key_position: jax.Array,
    reach: int,
) -> jax.Array:
    """`softmax` over the keys no farther than `reach` from the query's own position, p_t = t.

    Rows sum to 1, or are 0 where no allowed key is that near.

    Args:
        logits: [..., T, S].
        mask: as in `softmax`.
        query_position: t, absolute, integers [..., T].
        key_position: s, absolute, integers [..., S].
        reach: D of |s - t| <= D, at least 0.

    Raises:
        UserError: the reach is negative.

    Source: Luong et al. 2015, section 3.2, "local-m".
    """
    return softmax(logits, _near(mask, query_position, key_position, reach))


def local_predictive(
    logits: jax.Array,
    mask: jax.Array | None,
    centre: jax.Array,
    key_position: jax.Array,
    reach: int,
    sigma: float,
) -> jax.Array:
    """weights[t, s] = softmax(logits[t])[s] exp(-(s - p_t)^2 / (2 sigma^2)), |s - p_t| <= reach.

    The softmax is over the allowed keys in the window. The Gaussian is no part of it, so rows sum
    to at most 1; to 0 where no allowed key is in the window. With an infinite sigma it is 1.

    Args:
        logits: [..., T, S].
        mask: as in `softmax`.
        centre: p_t, a real position, [..., T].
        key_position: s, absolute, integers [..., S].
        reach: D.
        sigma: in positions.

    Raises:
        UserError: the reach is negative, or sigma not above 0.

    Source: Luong et al. 2015, eq. 10.
    """
    if not sigma > 0:
        raise UserError(
            f"the sigma of a local attention must be above 0; got {sigma} (None: half its reach)"
        )
    distance = key_position[..., None, :] - centre[..., :, None]
    gaussian = jnp.exp(-(distance**2) / (2 * sigma**2))
    window = softmax(logits, _near(mask, centre, key_position, reach))
    return window * gaussian.astype(logits.dtype)


def predicted_centre(hidden: jax.Array, v: jax.Array, length: jax.Array | int) -> jax.Array:
    """p_t = length[t] sigmoid(v . tanh(hidden[t])): a real position between 0 and the length.

    Args:
        hidden: W h_t, already projected, [..., T, W].
        v: [W].
        length: S, how many keys the row may attend to, [..., T].

    Returns:
        [..., T] in float32 or wider: in half precision, positions past 256 would be whole numbers.

    Source: Luong et al. 2015, eq. 9.
    """
    wide = jnp.promote_types(hidden.dtype, jnp.float32)
    logit = jnp.einsum("...tw,w->...t", jnp.tanh(hidden), v, preferred_element_type=wide)
    return length * jax.nn.sigmoid(logit)


def _near(
    mask: jax.Array | None, centre: jax.Array, key_position: jax.Array, reach: int
) -> jax.Array:
    """What the mask allows and lies no farther than `reach` from each row's centre [..., T]."""
    near = Window(reach, reach).dense(centre, key_position)
    return near if mask is None else mask & near


class AlignContext(NamedTuple):
    """Who asks, and where it and the keys stand: what an align may know besides the logits.

    Attributes:
        query: [..., T, K].
        query_position: absolute positions, integers that broadcast to [..., T].
        key_position: absolute positions, integers that broadcast to [..., S].
    """

    query: jax.Array
    query_position: jax.Array
    key_position: jax.Array


class Align(nn.Module):
    """What every align is."""

    def __call__(self, logits: jax.Array, mask: jax.Array | None, asked: AlignContext) -> jax.Array:
        """Logits [..., T, S] and the dense mask [..., T, S] -> weights [..., T, S]."""
        raise NotImplementedError


class Softmax(Align):
    """`softmax` as a part; rows sum to 1."""

    def __call__(self, logits: jax.Array, mask: jax.Array | None, asked: AlignContext) -> jax.Array:
        """Return [..., T, S]."""
        return softmax(logits, mask)


class Normalise(Align):
    """`normalise` as a part, for scores that are kernels.

    Rows sum to 1, or to 0 where the kernel reaches no allowed key.
    """

    def __call__(self, logits: jax.Array, mask: jax.Array | None, asked: AlignContext) -> jax.Array:
        """Return [..., T, S]; the logits are the kernel's values, >= 0."""
        return normalise(logits, mask)


class Uniform(Align):
    """`uniform` as a part; rows sum to 1."""

    def __call__(self, logits: jax.Array, mask: jax.Array | None, asked: AlignContext) -> jax.Array:
        """Return [..., T, S]."""
        return uniform(logits, mask)


class LocalMonotonic(Align):
    """`local_monotonic` as a part; rows sum to 1, or 0 with no key in the window.

    Attributes:
        reach: D, how far a key may be from the query's own position.
    """

    reach: NonNegativeInt = 10

    def __call__(self, logits: jax.Array, mask: jax.Array | None, asked: AlignContext) -> jax.Array:
        """Return [..., T, S]."""
        return local_monotonic(logits, mask, asked.query_position, asked.key_position, self.reach)


class LocalPredictive(Align):
    """`local_predictive` around the centre that `predicted_centre` reads from the query.

    Rows sum to at most 1, to 0 with no key in the window. The length S is the number of keys that
    the mask allows, row by row, so padding moves no centre. The window's edge has no gradient: W
    and v learn through the Gaussian alone, and not at all where sigma is infinite.

    Attributes:
        reach: D, how far a key may be from the centre.
        width: W, the hidden layer's width; None means the query's.
        sigma: in positions; None means D / 2, as in the paper.
    """

    reach: NonNegativeInt = 10
    width: PositiveInt | None = None
    sigma: Annotated[float, Gt(0)] | None = None

    @nn.compact
    def __call__(self, logits: jax.Array, mask: jax.Array | None, asked: AlignContext) -> jax.Array:
        """Return [..., T, S]."""
        width = self.width or asked.query.shape[-1]
        hidden = Dense((width,), bias=False, name="hidden")(asked.query)
        v = self.param("v", nn.initializers.normal(width**-0.5), (width,))
        length = logits.shape[-1] if mask is None else mask.sum(-1)
        centre = predicted_centre(hidden, v, length)
        sigma = self.reach / 2 if self.sigma is None else self.sigma
        return local_predictive(logits, mask, centre, asked.key_position, self.reach, sigma)
