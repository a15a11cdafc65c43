"""Regression by attention to known points: the Nadaraya-Watson estimator as a model."""

from dataclasses import field
from typing import Any, Self

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.align import Softmax
from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.kernel_score import Gaussian
from attnjax.attention.mask import ExcludeSelf, Padding
from attnjax.errors import UserError
from attnjax.models.base import Model, sown


class KernelRegression(Model):
    """y(x) = sum over i of w_i(x) y_i: queries x, keys x_i, values y_i of the points it is given.

    A point is a row of its D coordinates x and then its y; a row with a NaN in it is padding. While
    training no point attends to itself: its own value is what is to be predicted, and the best
    kernel would be the narrowest. The loss is then the error of leave-one-out cross-validation.

    Attributes:
        attention: from a query to the points.

    Source: Nadaraya 1964; Watson 1964; d2l.ai 0.17 (Zhang et al.), section 10.2.
    """

    attention: AttentionBase = field(
        default_factory=lambda: Attention(score=Gaussian(), align=Softmax())
    )

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        """Itself: points have no vocabulary.

        Raises:
            UserError: the data is text.
        """
        if (source, target) != (None, None):
            raise UserError("KernelRegression wants points, rows of numbers; the data is text")
        return self

    @nn.compact
    def __call__(self, source: jax.Array, given: jax.Array, *, deterministic: bool) -> jax.Array:
        """Predict a y for each query.

        Args:
            source: the known points, [B, S, D+1].
            given: the queries, [B, T, D+1], of which the last column is not looked at; when not
                deterministic they are the known points themselves.
            deterministic: every query attends to every point, no dropout.

        Returns:
            [B, T]; 0 where no point has any weight.

        Raises:
            ValueError: queries that cannot be the points, when not deterministic.
        """
        if not deterministic and source.shape != given.shape:
            raise ValueError(
                f"a training's queries are its points, {source.shape}; got {given.shape}"
            )
        mask = Padding(~jnp.isnan(source).any(-1))
        # not NaN times 0: what is masked must be finite
        source, query = jnp.nan_to_num(source), jnp.nan_to_num(given[..., :-1])
        context = self.attention(
            query,
            source[..., :-1],
            source[..., -1:],
            mask if deterministic else mask & ExcludeSelf(),
            deterministic=deterministic,
        )
        return context[..., 0]

    @nn.nowrap
    def alignment(self, params: Any, source: jax.Array, given: jax.Array) -> jax.Array:
        """The weights [B, T, S] of the points [B, S, D+1] for queries [B, T, D+1]."""
        return sown(self.sown_attention(params, source, given), "attention")

    @nn.nowrap
    def sown_attention(self, params: Any, source: jax.Array, given: jax.Array) -> Any:
        """What predicting sows to "attention"."""
        variables = {"params": params}
        _, seen = self.apply(variables, source, given, deterministic=True, mutable=["attention"])
        return seen["attention"]
