"""One layer of attention that predicts a number at a point from known points."""

from dataclasses import field
from typing import Any

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.attention import AttentionBase
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Padding
from attnjax.attention.state.decay import NoDecay
from attnjax.attention.state.recurrent import DecayedState
from attnjax.models.base import Model
from attnjax.models.kernel_regression import Points, Queries
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs


class InContextRegressor(Model):
    """y(x) = -[q + attention(q, points, points)]_y,   q = (x, 0).

    A point is a row of its D coordinates and its y; a row with a NaN is padding. Each query q sees
    the known points alone. There is no norm, no feed-forward network and no embedding: the points
    themselves are the words, and the last feature of a query's word is the prediction's negative.

    By default the attention is linear, without softmax or any other normalizer. With weights that
    the paper constructs it is then one step of gradient descent, from w = 0, on the squared error
    of the known points: attention adds -rate/N sum over i of y_i x_i . x to the y of the query.

    Source: von Oswald et al. 2023, proposition 1 and section 3; keys without the query's word, and
    the sign, as in their program (`src/transformer.py`, `include_query=False`).
    """

    text = ()

    attention: AttentionBase = field(
        default_factory=lambda: MultiHead(head=DecayedState(decay=NoDecay()), heads=1)
    )

    @nn.compact
    def __call__(
        self, source: Points, decoder_input: Queries, *, deterministic: bool
    ) -> Float[Array, "B T"]:
        """Predict y for each query, whose last column is not read."""
        mask = Padding(~jnp.isnan(source).any(-1))
        known = jnp.nan_to_num(source)
        query = jnp.nan_to_num(decoder_input).at[..., -1].set(0)
        change = self.attention(query, known, known, mask, deterministic=deterministic)
        return -(query + change)[..., -1]

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Points, decoder_input: Queries) -> Attentions:
        query, key = (~jnp.isnan(points).any(-1) for points in (decoder_input, source))
        mask, no_words = pairs(query, key), (None, None)
        return layer_attentions(tree, mask, "attention", words=no_words, to_source=True)
