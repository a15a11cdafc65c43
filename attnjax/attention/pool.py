"""Pools: from weights and values to the context."""

from abc import abstractmethod
from functools import partial
from math import prod

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.position import Positions, clipped_distance
from attnjax.attention.shapes import Contexts, Values, Weights
from attnjax.attention.traits import Fusible
from attnjax.config.constraints import PositiveInt
from attnjax.nn.dtypes import wide, widen
from attnjax.nn.product import product


def weighted_sum(weights: Weights, value: Values) -> Contexts:
    """Return the weighted sum: context[t] = sum over s of weights[t, s] value[s].

    The weights are cast to the value's dtype; the products are summed in float32 or wider.

    Source: Bahdanau et al. 2015, eq. 5.
    """
    context = product("ts,sv->tv", weights.astype(value.dtype), value, wide(value))
    return context.astype(value.dtype)


def relative_sum(
    weights: Weights, value: Values, by_distance: Float[Array, "D V"], positions: Positions
) -> Contexts:
    """Sum values that know their distance: context[t] = sum_s weights[t, s] (value[s] + a[s-t]).

    Distances are clipped to [-k, k]. The weights of equal distances are added up, in float32 or
    wider, before they meet their vector, so that no [T, S, V] array is made. The vectors a are
    those of the distances -k, ..., k; the context has the value's dtype.

    Source: Shaw et al. 2018, eq. 3.
    """
    distances = len(by_distance)
    index = jnp.broadcast_to(clipped_distance(positions, distances // 2), weights.shape)
    rows = (prod(weights.shape[:-1]), weights.shape[-1])
    add_up = jax.vmap(partial(jax.ops.segment_sum, num_segments=distances))
    total = add_up(widen(weights).reshape(rows), index.reshape(rows))
    total = total.reshape(*weights.shape[:-1], distances)
    return weighted_sum(weights, value) + weighted_sum(total, by_distance.astype(value.dtype))


class Pool(Fusible):
    """A pool: from weights and values to the context."""

    @abstractmethod
    def __call__(self, weights: Weights, value: Values, positions: Positions) -> Contexts:
        """Pool values [..., S, V] by weights [..., T, S] -> context [..., T, any]."""


class WeightedSum(Pool, fusible=True):
    """`weighted_sum` as a part; no parameters."""

    def __call__(self, weights: Weights, value: Values, positions: Positions) -> Contexts:
        return weighted_sum(weights, value)


class RelativeSum(Pool):
    """`relative_sum` as a part, with one learned vector for each distance.

    It stands beside the score `Relative`, which has vectors of its own for the keys. From k,
    `max_distance`, on all distances have the same vector.

    Source: Shaw et al. 2018, eq. 3 and section 3.2.
    """

    max_distance: PositiveInt = 16

    @nn.compact
    def __call__(self, weights: Weights, value: Values, positions: Positions) -> Contexts:
        width = value.shape[-1]
        normal = nn.initializers.normal(width**-0.5)
        by_distance = self.param("by_distance", normal, (2 * self.max_distance + 1, width))
        return relative_sum(weights, value, by_distance, positions)
