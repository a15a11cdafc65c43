"""Scores that depend on the distance between query and key: attention as kernel regression.

The Nadaraya-Watson estimator predicts f(q) = sum over s of K(q - k[s]) v[s] / sum over s of K(q -
k[s]). `Gaussian` and `LearnedGaussian` compute log K, for the align `Softmax`. The others compute K
itself, for the align `Normalize`: a kernel that is 0 beyond some distance has no logarithm there.
Constant factors of K cancel and are left out.
"""

import math
from abc import abstractmethod

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.position import Positions
from attnjax.attention.score import Score, check_widths
from attnjax.attention.shapes import Keys, Logits, Queries
from attnjax.config.constraints import PositiveFloat
from attnjax.errors import UserError
from attnjax.nn.dtypes import wide
from attnjax.nn.parameter_kinds import Kind, declare

declare(Kind.UNDECAYED, "log_bandwidth")


def squared_distance(query: Queries, key: Keys) -> Logits:
    """Squared distance: distance[t, s] = ||query[t] - key[s]||^2, in float32 or wider.

    The expansion |q|^2 + |k|^2 - 2 q.k would be a difference of large numbers: in float32, for two
    points 0.01 apart and 100 from the origin, its error is as large as the distance.

    Raises:
        UserError: query and key differ in width.
    """
    check_widths(query, key, "a distance")
    dtype = wide(query, key)
    difference = query.astype(dtype)[..., :, None, :] - key.astype(dtype)[..., None, :, :]
    return (difference**2).sum(-1)


def gaussian(query: Queries, key: Keys, bandwidth: float | jax.Array) -> Logits:
    """Gaussian kernel's logarithm: logits[t, s] = -||query[t] - key[s]||^2 / (2 bandwidth^2).

    The bandwidth is the kernel's standard deviation, above 0, in the units of query and key.

    Raises:
        UserError: the bandwidth is not positive.

    Source: Nadaraya 1964, Watson 1964, with a normal density for the kernel.
    """
    return -squared_distance(query, key) / (2 * _positive(bandwidth) ** 2)


def squared_exponential(query: Queries, key: Keys, bandwidth: float | jax.Array) -> Logits:
    """Gaussian kernel: K[t, s] = exp(-||query[t] - key[s]||^2 / (2 bandwidth^2)).

    Normalized, it equals the softmax of `gaussian`, except far from every key: there K is 0 in
    floating point and so is the row, while the softmax still finds the nearest key.

    Source: Nadaraya 1964, Watson 1964.
    """
    return jnp.exp(gaussian(query, key, bandwidth))


def boxcar(query: Queries, key: Keys, bandwidth: float | jax.Array) -> Logits:
    """Boxcar kernel: K[t, s] = 1 where ||query[t] - key[s]|| <= bandwidth, else 0; no gradient.

    The bandwidth, above 0, is how far the kernel reaches, in the units of query and key.

    Raises:
        UserError: the bandwidth is not positive.

    Source: Rosenblatt 1956; Parzen 1962.
    """
    distance = squared_distance(query, key)
    return (distance <= _positive(bandwidth) ** 2).astype(distance.dtype)


def epanechnikov(query: Queries, key: Keys, bandwidth: float | jax.Array) -> Logits:
    """Epanechnikov kernel: K[t, s] = max(0, 1 - ||query[t] - key[s]||^2 / bandwidth^2).

    Arguments as of `boxcar`.

    Source: Epanechnikov 1969.
    """
    return jnp.maximum(1 - squared_distance(query, key) / _positive(bandwidth) ** 2, 0)


def triangular(query: Queries, key: Keys, bandwidth: float | jax.Array) -> Logits:
    """Triangular kernel: K[t, s] = max(0, 1 - ||query[t] - key[s]|| / bandwidth).

    Arguments as of `boxcar`. Its gradient at distance 0, where it has no derivative, is 0.

    Source: Parzen 1962.
    """
    square = squared_distance(query, key)
    apart = square > 0
    # The square root's derivative at 0 is infinite, and infinity times 0 would be NaN.
    distance = jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1)), 0)
    return jnp.maximum(1 - distance / _positive(bandwidth), 0)


def _positive(bandwidth: float | jax.Array) -> float | jax.Array:
    """The bandwidth; a number that is not positive is refused."""
    if isinstance(bandwidth, int | float) and not bandwidth > 0:
        raise UserError(f"a kernel's bandwidth must be positive; got {bandwidth}")
    return bandwidth


class Gaussian(Score):
    """`gaussian` as a part; no parameters. With `Softmax` it is the Nadaraya-Watson estimator."""

    bandwidth: PositiveFloat = 1.0

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        return gaussian(query, key, self.bandwidth)


class LearnedGaussian(Score):
    """`gaussian` with a learned bandwidth; the parameter is its logarithm, so it stays positive.

    `bandwidth` is the initial value.
    """

    bandwidth: PositiveFloat = 1.0

    @nn.compact
    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        start = nn.initializers.constant(math.log(_positive(self.bandwidth)))
        logarithm = self.param("log_bandwidth", start, ()).astype(wide(query, key))
        return gaussian(query, key, jnp.exp(logarithm))


class Kernel(Score):
    """A score that is a kernel K >= 0 itself, not its logarithm, as the align `Normalize` wants."""


class BandwidthKernel(Kernel):
    """A kernel of the distance as a part, for `Normalize`; no parameters."""

    bandwidth: PositiveFloat = 1.0

    @staticmethod
    @abstractmethod
    def values(query: Queries, key: Keys, bandwidth: float) -> Logits:
        """K of each query and key."""

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        return self.values(query, key, self.bandwidth)


class SquaredExponential(BandwidthKernel):
    """`squared_exponential` as a part, for `Normalize`; no parameters."""

    values = staticmethod(squared_exponential)


class Boxcar(BandwidthKernel):
    """`boxcar` as a part, for `Normalize`: the mean of all values in reach; no parameters."""

    values = staticmethod(boxcar)


class Epanechnikov(BandwidthKernel):
    """`epanechnikov` as a part, for `Normalize`; no parameters."""

    values = staticmethod(epanechnikov)


class Triangular(BandwidthKernel):
    """`triangular` as a part, for `Normalize`; no parameters."""

    values = staticmethod(triangular)
