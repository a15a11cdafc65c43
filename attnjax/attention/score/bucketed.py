"""A learned bias of logits for each bucket of distances: T5's relative positions."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jax.tree_util import Partial

from attnjax.attention.position import Positions, distance
from attnjax.attention.score.base import DotProduct
from attnjax.attention.score.kernel import Kernel
from attnjax.attention.score.positional import PositionScore
from attnjax.attention.shapes import Keys, Logits, Queries
from attnjax.config.constraints import PositiveInt
from attnjax.errors import UserError
from attnjax.nn.parameter_kinds import Kind, declare

declare(Kind.UNDECAYED, "by_bucket")


def distance_bucket(
    ahead: jax.Array, *, buckets: int, most: int, both_sides: bool = True
) -> jax.Array:
    """Return the bucket of each distance, key position - query position: 0, ..., buckets - 1.

    On one side of n buckets the first n / 2 hold one distance each, 0, 1, ..., n / 2 - 1; the
    others grow with the logarithm, and the last holds all from `most` on. With `both_sides` keys
    before the query, and its own, have the first half of the buckets, later keys the second;
    without, all buckets are of the keys before, and later keys are in bucket 0.

    Source: Raffel et al. 2020, section 2.1; the formula is their program's.
    """
    start, back = 0, jnp.maximum(-ahead, 0)
    if both_sides:
        buckets //= 2
        start, back = jnp.where(ahead > 0, buckets, 0), jnp.abs(ahead)
    exact = buckets // 2
    # a distance of 0 is below `exact`; its logarithm is not used. In float32, as in the program of
    # the paper: rounding in float64 puts distances at the edge of a bucket into the one before
    ratio = jnp.maximum(back, 1).astype(jnp.float32) / exact
    share = jnp.log(ratio) / float(np.log(most / exact))
    far = exact + (share * (buckets - exact)).astype(jnp.int32)
    return start + jnp.where(back < exact, back, jnp.minimum(far, buckets - 1))


class Bucketed(PositionScore, fusible=True):
    """logits[t, s] = score(query[t], key[s]) + b[bucket(s - t)], b learned in each head.

    T5's score is `Dot`, without the factor 1 / sqrt(K), and all of its layers share b; here each
    layer has its own. b starts at 0. Buckets are those of `distance_bucket`.

    Raises:
        UserError: the score is a kernel; there are fewer than 2 buckets on a side, or `most` is not
            larger than the distances with a bucket of their own.

    Source: Raffel et al. 2020, section 2.1.
    """

    buckets: PositiveInt = 32
    most: PositiveInt = 128
    both_sides: bool = True

    def setup(self) -> None:
        if isinstance(self.score, Kernel):
            raise UserError(
                "Bucketed adds to logits, and a kernel is none: it wants a score such as Dot; got "
                f"{self.score.in_words()}"
            )
        side = self.buckets // 2 if self.both_sides else self.buckets
        if side < 2 or self.most <= side // 2:
            raise UserError(
                f"Bucketed wants at least 2 buckets on a side and most above {side // 2}; got "
                f"{self.buckets} buckets{' on both sides' * self.both_sides}, most {self.most}"
            )

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        logits = self.score(query, key, positions)
        bias = self._bias(query)(query, positions)
        return logits + jnp.broadcast_to(bias, logits.shape)

    def is_fusible(self) -> bool:
        return self.score.is_fusible() and not self.score.is_capped()

    def as_dot_product(self, query: Queries, key: Keys, positions: Positions) -> DotProduct:
        product = self.score.as_dot_product(query, key, positions)
        return product.plus(self._bias(query))

    @nn.compact
    def _bias(self, query: jax.Array) -> Partial:
        table = self.param("by_bucket", nn.initializers.zeros, (self.buckets,))
        table = jnp.broadcast_to(table, (*query.shape[:-2], self.buckets))
        return Partial(_BucketBias(self.most, self.both_sides), table)


@dataclass(frozen=True)
class _BucketBias:
    """The bias of a table [..., buckets], as a function of arrays that a fused kernel can call."""

    most: int
    both_sides: bool

    def __call__(self, table: jax.Array, query: jax.Array, positions: Positions) -> jax.Array:
        bucket = distance_bucket(
            distance(positions),
            buckets=table.shape[-1],
            most=self.most,
            both_sides=self.both_sides,
        )
        bucket = jnp.broadcast_to(bucket, (*table.shape[:-1], *bucket.shape[-2:]))
        flat = bucket.reshape(*table.shape[:-1], bucket.shape[-2] * bucket.shape[-1])
        return jnp.take_along_axis(table, flat, axis=-1).reshape(bucket.shape)
