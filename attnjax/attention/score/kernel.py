"""Scores that depend on the distance between query and key: attention as kernel regression.

The Nadaraya-Watson estimator predicts f(q) = sum over s of K(q - k[s]) v[s] / sum over s of K(q -
k[s]). `Gaussian` and `LearnedGaussian` compute log K, for the align `Softmax`. The others compute K
itself, for the align `Normalize`: a kernel that is 0 beyond some distance has no logarithm there.
Constant factors of K cancel and are left out.
"""

import math

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.position import Positions
from attnjax.attention.score.base import Score, check_widths
from attnjax.attention.shapes import Keys, Logits, Queries
from attnjax.config.constraints import PositiveFloat
from attnjax.errors import UserError
from attnjax.nn.dtypes import wide
from attnjax.nn.parameter_kinds import Kind, declare

declare(Kind.UNDECAYED, "log_bandwidth")


def squared_distance(query: Queries, key: Keys) -> Logits:
    """Return squared distances: distance[t, s] = ||query[t] - key[s]||^2, in float32 or wider.

    The expansion |q|^2 + |k|^2 - 2 q.k would be a difference of large numbers: in float32, for two
    points 0.01 apart and 100 from the origin, its error is as large as the distance.
    """
    check_widths(query, key, "a distance")
    dtype = wide(query, key)
    difference = query.astype(dtype)[..., :, None, :] - key.astype(dtype)[..., None, :, :]
    return (difference**2).sum(-1)


def gaussian(query: Queries, key: Keys, bandwidth: float | jax.Array) -> Logits:
    """Return log K of a Gaussian: logits[t, s] = -||query[t] - key[s]||^2 / (2 bandwidth^2).

    Source: Nadaraya 1964, Watson 1964, with a normal density for the kernel.
    """
    return -squared_distance(query, key) / (2 * bandwidth**2)


class Kernel(Score):
    """A score that is a kernel K >= 0 itself, not its logarithm, as the align `Normalize` wants."""

    may_be_zero = True


class DistanceScore(Score):
    """A score of the distance between query and key, in units of a bandwidth.

    The bandwidth, in the units of query and key, is the Gaussian's standard deviation, and how far
    the other kernels reach.

    Raises:
        UserError: the bandwidth is not positive.
    """

    bandwidth: PositiveFloat = 1.0

    def setup(self) -> None:
        if isinstance(self.bandwidth, int | float) and not self.bandwidth > 0:
            raise UserError(f"a kernel's bandwidth must be positive; got {self.bandwidth}")


class Gaussian(DistanceScore):
    """`gaussian` as a part; no parameters. With `Softmax` it is the Nadaraya-Watson estimator."""

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        return gaussian(query, key, self.bandwidth)


class LearnedGaussian(DistanceScore):
    """`gaussian` with a learned bandwidth; the parameter is its logarithm, so it stays positive.

    `bandwidth` is the initial value.
    """

    @nn.compact
    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        start = nn.initializers.constant(math.log(self.bandwidth))
        logarithm = self.param("log_bandwidth", start, ()).astype(wide(query, key))
        return gaussian(query, key, jnp.exp(logarithm))


class SquaredExponential(DistanceScore, Kernel):
    """Gaussian kernel: K[t, s] = exp(-||query[t] - key[s]||^2 / (2 bandwidth^2)); no parameters.

    Normalized, it equals the softmax of `gaussian`, except far from every key: there K is 0 in
    floating point and so is the row, while the softmax still finds the nearest key.

    Source: Nadaraya 1964, Watson 1964.
    """

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        return jnp.exp(gaussian(query, key, self.bandwidth))


class Boxcar(DistanceScore, Kernel):
    """Boxcar kernel: K[t, s] = 1 where ||query[t] - key[s]|| <= bandwidth, else 0; no gradient.

    Normalized, it gives the mean of all values in reach.

    Source: Rosenblatt 1956; Parzen 1962.
    """

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        distance = squared_distance(query, key)
        return (distance <= self.bandwidth**2).astype(distance.dtype)


class Epanechnikov(DistanceScore, Kernel):
    """Epanechnikov kernel: K[t, s] = max(0, 1 - ||query[t] - key[s]||^2 / bandwidth^2).

    Source: Epanechnikov 1969.
    """

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        return jnp.maximum(1 - squared_distance(query, key) / self.bandwidth**2, 0)


class Triangular(DistanceScore, Kernel):
    """Triangular kernel: K[t, s] = max(0, 1 - ||query[t] - key[s]|| / bandwidth).

    Its gradient at distance 0, where it has no derivative, is 0.

    Source: Parzen 1962.
    """

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        square = squared_distance(query, key)
        apart = square > 0
        # The square root's derivative at 0 is infinite, and infinity times 0 would be NaN.
        distance = jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1)), 0)
        return jnp.maximum(1 - distance / self.bandwidth, 0)
