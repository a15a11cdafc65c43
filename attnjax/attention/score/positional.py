"""Scores with positions, around a score without: rotary, ALiBi, relative positions.

A position that is added to an embedding is that of one word. A score around a score changes the
logit of a query and a key by their distance.
"""

from dataclasses import field

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jax import lax
from jax.tree_util import Partial
from jaxtyping import Array, Float

from attnjax.attention.position import Positions, clipped_distance, distance
from attnjax.attention.score.base import DotProduct, ScaledDot, Score, dot
from attnjax.attention.score.kernel import Kernel
from attnjax.attention.score.rotary_scaling import RotaryScaling, unscaled_rates
from attnjax.attention.shapes import Keys, Logits, Queries
from attnjax.config.constraints import PositiveFloat, PositiveInt
from attnjax.errors import UserError
from attnjax.nn.axes import head_number
from attnjax.nn.dtypes import wide


def rotary(
    x: Float[Array, "*B T K"],
    position: jax.Array,
    base: float = 10_000.0,
    scaling: RotaryScaling | None = None,
) -> Float[Array, "*B T K"]:
    """Rotate each pair of features (2i, 2i + 1) by the angle position base^(-2i/K).

    The dot product of two vectors that are rotated so depends on the distance of their positions
    only, and the norm of a vector stays as it is. Queries or keys keep their dtype; angles are
    computed in float32 or wider. The larger the base, the slower the last pairs rotate. A scaling
    has other rates in the place of base^(-2i/K).

    Raises:
        UserError: K is odd.

    Source: Su et al. 2021, eq. 15 and 34.
    """
    width = x.shape[-1]
    if width % 2:
        raise UserError(f"rotary positions want an even width of queries and keys; got {width}")
    dtype = wide(x)
    rate = unscaled_rates(width, base) if scaling is None else scaling.rates(width, base)
    # not by a product of matrices, whose operands a TPU would round
    angle = jnp.multiply.outer(jnp.asarray(position).astype(dtype), rate.astype(dtype))
    pairs = x.astype(dtype).reshape(*x.shape[:-1], width // 2, 2)
    even, odd = pairs[..., 0], pairs[..., 1]
    sin, cos = (jnp.broadcast_to(wave(angle), even.shape) for wave in (jnp.sin, jnp.cos))
    rotated = jnp.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1)
    if dtype != x.dtype:
        # a feature grows by up to sqrt(2): what padding holds must not become infinite in float16
        greatest = float(jnp.finfo(x.dtype).max)
        rotated = jnp.clip(rotated, -greatest, greatest)
    return rotated.reshape(x.shape).astype(x.dtype)


def alibi(slope: jax.Array, positions: Positions) -> jax.Array:
    """Return the linear bias: bias[t, s] = -slope |t - s|, the same on both sides of the query.

    The slope is one number for each head and example: [...].

    Source: Press et al. 2022, section 3; under a causal mask it is theirs.
    """
    return -slope[..., None, None] * abs(distance(positions))


def alibi_slopes(heads: int) -> np.ndarray:
    """Return the slope of each head: 2^(-8h/H) for h = 1, ..., H, if H is a power of two.

    Otherwise the slopes are those of the power of two below H, then those of odd h for the power of
    two above H.

    Source: Press et al. 2022, section 3; for other H, the authors' program.
    """
    below = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 * np.arange(1, below + 1) / below)
    between = 2.0 ** (-4 * np.arange(1, 2 * below + 1, 2) / below)
    return np.concatenate([slopes, between[: heads - below]])


def relative(
    query: Float[Array, "*#B T K"], by_distance: Float[Array, "*#B D K"], positions: Positions
) -> Logits:
    """Return the bias of relative positions: bias[t, s] = query[t] . a[clip(s - t, -k, k)].

    Every query meets the 2k + 1 vectors once, so that no [T, S, K] array is made. The vectors a are
    those of the distances -k, ..., k. The bias is in float32 or wider.

    Source: Shaw et al. 2018, the second term of eq. 5; section 3.2.
    """
    products = dot(query, by_distance)
    index = clipped_distance(positions, by_distance.shape[-2] // 2)
    index = jnp.broadcast_to(index, (*products.shape[:-1], index.shape[-1]))
    return jnp.take_along_axis(products, index, axis=-1)


class PositionScore(Score):
    """A score that adds positions to an inner score; the inner score prepares the keys."""

    score: Score = field(default_factory=ScaledDot)

    def prepare(self, key: Keys) -> Float[Array, "*#B S _"]:
        return self.score.prepare(key)

    def in_words(self) -> str:
        return f"{type(self).__name__} around {self.score.in_words()}"


class AroundDotProduct(PositionScore):
    """A position score around a dot product of its queries and keys."""

    def setup(self) -> None:
        inner = self.score
        if isinstance(inner, PositionScore) or inner.is_capped() or not inner.is_fusible():
            raise UserError(
                f"{type(self).__name__} wants a score that is a dot product, such as Dot or "
                f"ScaledDot; got {self.score.in_words()}"
            )


class Rotary(AroundDotProduct, fusible=True):
    """`rotary` on the two vectors of a dot product; no parameters of its own.

        logits[t, s] = c (R_t q[t]) . (R_s k[s]),   where score(query[t], key[s]) = c q[t] . k[s]

    The logits depend on the distance s - t only. q and k are the vectors that the score within
    gives in `as_dot_product`: a score that normalizes queries and keys does so before they are
    rotated, as in Qwen3 and OLMo 2. After the rotation a learned gain of each feature would make
    the logits depend on the positions themselves.

    Attributes:
        scaling: for texts longer than those of training: other angles, and a factor of the logits.

    Source: Su et al. 2021, section 3.2.
    """

    base: PositiveFloat = 10_000.0
    scaling: RotaryScaling | None = None

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        return self.as_dot_product(query, key, positions).logits(positions)

    def same_in_every_head(self) -> bool:
        return self.score.same_in_every_head()

    def as_dot_product(self, query: Queries, key: Keys, positions: Positions) -> DotProduct:
        product = self.score.as_dot_product(query, key, positions)
        turned = product._replace(
            query=rotary(product.query, positions.query, self.base, self.scaling),
            key=rotary(product.key, positions.key, self.base, self.scaling),
        )
        return turned if self.scaling is None else turned.times(self.scaling.temperature())


class Alibi(PositionScore):
    """ALiBi, attention with linear biases: the farther a key, the lower its logit; no parameters.

        logits[t, s] = score(query[t], key[s]) - slope |t - s|

    The slope of a head is that of `alibi_slopes`; outside `MultiHead` there is one head. The score
    is any whose result is logits: no kernel, whose values must not become negative.

    Source: Press et al. 2022, section 3.
    """

    def setup(self) -> None:
        if isinstance(self.score, Kernel):
            raise UserError(
                "Alibi adds to logits, and a kernel is none: it wants a score such as ScaledDot; "
                f"got {self.score.in_words()}"
            )

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        logits = self.score(query, key, positions)
        return logits + jnp.broadcast_to(alibi(_head_slope(query), positions), logits.shape)

    def is_fusible(self) -> bool:
        return self.score.is_fusible() and not self.score.is_capped()

    def as_dot_product(self, query: Queries, key: Keys, positions: Positions) -> DotProduct:
        product = self.score.as_dot_product(query, key, positions)
        return product.plus(Partial(_alibi_bias, _head_slope(query)))


def _head_slope(query: jax.Array) -> jax.Array:
    """Return the slope of the current head, for queries [..., T, K]: [...]."""
    head, heads = head_number()
    return jnp.broadcast_to(jnp.asarray(alibi_slopes(heads), wide(query))[head], query.shape[:-2])


def _alibi_bias(slope: jax.Array, query: jax.Array, positions: Positions) -> jax.Array:
    # A constant: without this the backward pass would add up its gradient, tile by tile.
    return alibi(lax.stop_gradient(slope), positions)


class Relative(AroundDotProduct, fusible=True):
    """`relative` positions of keys: a learned vector for each distance, in each head.

        logits[t, s] = c query[t] . (key[s] + a[clip(s - t, -k, k)])

    where c is the scale of the score within, a dot product: for `ScaledDot`, 1 / sqrt(K), as in the
    paper. From k, `max_distance`, on all distances have the same vector.

    Source: Shaw et al. 2018, eq. 4 and section 3.2.
    """

    max_distance: PositiveInt = 16

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        product = self.score.as_dot_product(query, key, positions)
        bias = relative(product.scale * product.query, self._vectors(query), positions)
        logits = self.score(query, key, positions)
        return logits + jnp.broadcast_to(bias, logits.shape)

    def as_dot_product(self, query: Queries, key: Keys, positions: Positions) -> DotProduct:
        product = self.score.as_dot_product(query, key, positions)
        return product.plus(Partial(_relative_bias, self._vectors(query)))

    @nn.compact
    def _vectors(self, query: jax.Array) -> jax.Array:
        """Return the vectors of all distances, for queries [..., T, K]: [..., 2k + 1, K]."""
        width = query.shape[-1]
        normal = nn.initializers.normal(width**-0.5)
        vectors = self.param("by_distance", normal, (2 * self.max_distance + 1, width))
        return jnp.broadcast_to(vectors, (*query.shape[:-2], *vectors.shape))


def _relative_bias(vectors: jax.Array, query: jax.Array, positions: Positions) -> jax.Array:
    return relative(query, vectors, positions)
