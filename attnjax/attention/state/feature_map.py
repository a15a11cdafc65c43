"""Feature maps phi of linear attention: phi(q) . phi(k) says how well a query fits a key.

A map gives the logarithm of its features, which are positive. Linear attention subtracts the
largest of all keys before it takes the exponential, so that no feature overflows in any dtype and
no sum of a query's products underflows. Features of any sign have no logarithm: a
`SignedFeatureMap` gives them as they are, for `SignedLinearAttention`.
"""

from abc import ABC, abstractmethod
from math import log, prod
from typing import ClassVar

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.config.constraints import PositiveInt
from attnjax.nn.dtypes import widen
from attnjax.nn.parameter_kinds import Kind, declare

declare(Kind.CONSTANT, "constant_projection")


class FeatureMap(nn.Module, ABC):
    """Positive features phi(x) of queries and keys."""

    @abstractmethod
    def __call__(self, x: jax.Array) -> jax.Array:
        """Return log phi, [..., S, F], of queries or keys [..., S, K], in float32 or wider."""


class EluPlusOne(FeatureMap):
    """phi(x) = elu(x) + 1, that is x + 1 if x > 0, else exp(x); F = K.

    Source: Katharopoulos et al. 2020, eq. 7.
    """

    def __call__(self, x: jax.Array) -> jax.Array:
        x = widen(x)
        return jnp.where(x > 0, jnp.log1p(jnp.maximum(x, 0)), x)


class PositiveRandomFeatures(FeatureMap):
    """phi(x) = exp(W y - |y|^2 / 2) / sqrt(F), where y = x / K^(1/4) and W is random, [F, K].

    Over all W the mean of phi(q) . phi(k) is exp(q . k / sqrt(K)), the numerator of scaled softmax
    attention. Each row of W is N(0, I); any two of K consecutive rows are orthogonal, which makes
    the variance smaller.

    W, with `features` rows, is drawn and stored with the parameters, as "constant_projection", but
    it is not trained, and no initializer of a model draws it anew.

    Source: Choromanski et al. 2021, lemma 1 and section 2.4.
    """

    features: PositiveInt = 64

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        y, shape = widen(x) / x.shape[-1] ** 0.25, (self.features, x.shape[-1])
        projection = self.param("constant_projection", orthogonal_rows, shape)
        projection = jax.lax.stop_gradient(projection).astype(y.dtype)
        offset = ((y**2).sum(-1, keepdims=True) + log(self.features)) / 2
        return jnp.einsum("...sk,fk->...sf", y, projection) - offset


class SignedFeatureMap(nn.Module, ABC):
    """Features of any sign whose products phi(q) . phi(k) are positive all the same."""

    least_product: ClassVar[float]
    """The least phi(q) . phi(k) of two vectors, above 0.

    The sum of a query's products may be what rounding left of large terms that cancel: it is kept
    at this number.
    """

    @abstractmethod
    def __call__(self, x: jax.Array) -> jax.Array:
        """Return phi, [..., S, F], of queries or keys [..., S, K], in float32 or wider."""


class TaylorFeatures(SignedFeatureMap):
    """Exponential's Taylor series up to the second order; F = 1 + K + K^2.

        phi(x) = [1; y; y y^T / sqrt(2)],   y = x / K^(1/4)
        phi(q) . phi(k) = 1 + z + z^2 / 2 >= 1 / 2,   z = q . k / sqrt(K)

    A state has 1 + K + K^2 features where that of `EluPlusOne` has K: a comparison of the two does
    not separate the shape of the weights from the capacity of the state.

    Source: Zhang et al. 2024 (Hedgehog), Table 2; Arora et al. 2024 (Based), section 4.
    """

    least_product = 0.5

    def __call__(self, x: jax.Array) -> jax.Array:
        y = widen(x) / x.shape[-1] ** 0.25
        squares = (y[..., :, None] * y[..., None, :]).reshape(*y.shape[:-1], y.shape[-1] ** 2)
        return jnp.concatenate([jnp.ones_like(y[..., :1]), y, squares / 2**0.5], axis=-1)


def orthogonal_rows(key: jax.Array, shape: tuple[int, int]) -> jax.Array:
    """Draw a matrix [F, K] with rows N(0, I), any two of a block of K rows orthogonal.

    Source: Choromanski et al. 2021, section 2.4.
    """
    rows, width = shape
    square = (-(-rows // width), width, width)
    # drawn flat: XLA takes seconds to compile a draw of four axes, or a QR decomposition
    drawn = jax.random.normal(key, (2 * prod(square),)).reshape(2, *square)
    lengths = jnp.linalg.norm(drawn[0], axis=-1, keepdims=True)
    return (lengths * jax.vmap(_orthonormal)(drawn[1])).reshape(-1, width)[:rows]


def _orthonormal(rows: jax.Array) -> jax.Array:
    """Make the rows [K, K] orthonormal by Gram and Schmidt, each against those before it."""

    def orthogonalize(index: jax.Array, rows: jax.Array) -> jax.Array:
        earlier = jnp.where(jnp.arange(len(rows))[:, None] < index, rows, 0)
        row = rows[index][None]
        for _ in range(2):  # the second time takes out what rounding left
            products = (earlier * row).sum(-1, keepdims=True)
            row = row - (products * earlier).sum(0, keepdims=True)
        return rows.at[index].set(row[0] / jnp.linalg.norm(row))

    return jax.lax.fori_loop(0, len(rows), orthogonalize, rows)
