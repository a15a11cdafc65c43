"""Regression by attention to known points: the Nadaraya-Watson estimator as a model."""

from dataclasses import field
from typing import Any

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.align.base import Softmax
from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.mask import ExcludeSelf, Padding
from attnjax.attention.score.kernel import Gaussian
from attnjax.models.base import Model
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs

Points = Float[Array, "B S E"]
Queries = Float[Array, "B T E"]
"""Points whose y is asked for; E is D+1."""


class KernelRegression(Model):
    """y(x) = sum over i of w_i(x) y_i, a weighted mean of the values y_i at known points x_i.

    A point is a row of its D coordinates x and then its y; a row with a NaN is padding. While
    training no point attends to itself, to predict the value that it sees: the loss is the error of
    leave-one-out cross-validation.

    Source: Nadaraya 1964; Watson 1964; d2l.ai 0.17 (Zhang et al.), section 10.2.
    """

    text = ()

    attention: AttentionBase = field(
        default_factory=lambda: Attention(score=Gaussian(), align=Softmax())
    )

    @nn.compact
    def __call__(
        self, source: Points, decoder_input: Queries, *, deterministic: bool
    ) -> Float[Array, "B T"]:
        """Predict y for each query, whose last column is not read; 0 where no point has weight.

        The source are the known points, and in training the queries, too.
        """
        if not deterministic and source.shape != decoder_input.shape:
            raise ValueError(
                f"a training's queries are its points, {source.shape}; got {decoder_input.shape}"
            )
        mask = Padding(~jnp.isnan(source).any(-1))
        # not NaN times 0: what is masked must be finite
        source, query = jnp.nan_to_num(source), jnp.nan_to_num(decoder_input[..., :-1])
        context = self.attention(
            query,
            source[..., :-1],
            source[..., -1:],
            mask if deterministic else mask & ExcludeSelf(),
            deterministic=deterministic,
        )
        return context[..., 0]

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Points, decoder_input: Queries) -> Attentions:
        query, key = (~jnp.isnan(points).any(-1) for points in (decoder_input, source))
        mask, no_words = pairs(query, key), (None, None)
        return layer_attentions(tree, mask, "attention", words=no_words, to_source=True)
