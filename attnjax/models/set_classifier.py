"""One attention to a set of items, with a small network before it and after it."""

from dataclasses import field
from typing import Any

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.attention import AttentionBase
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Padding
from attnjax.config.constraints import PositiveInt
from attnjax.errors import UserError
from attnjax.models.base import SymbolModel
from attnjax.models.feed_forward import ACTIVATIONS, Activation
from attnjax.models.shapes import Features, Words
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs
from attnjax.nn.linear import Dense

Items = Float[Array, "B S E"]


class SetClassifier(SymbolModel):
    """p(label) = softmax(E f(W z + b)), where z = attention(q, h, h) reads a set of items.

        h_i = W_2 f(W_1 x_i + b_1) + b_2

    x_i are the features of an item; one with a NaN is padding. The items have no order. The label
    depends on the context z alone: nothing goes around the attention. The query q is a learned
    vector.

    Attributes:
        width: D, of all hidden vectors.
        activation: f.

    Source: Velickovic et al. 2024, appendix A, eq. 9 to 14. There the query is a network's vector
        of a random number, which says nothing of the set.
    """

    text = ("target",)
    limited = ()

    width: PositiveInt = 128
    activation: Activation = "gelu"
    attention: AttentionBase = field(default_factory=lambda: MultiHead(heads=1))

    @nn.compact
    def features(self, source: Items, decoder_input: Words, *, deterministic: bool) -> Features:
        """Return the hidden vector of a set, T = 1, and the labels' embedding."""
        if decoder_input.shape[1] != 1:
            raise UserError(
                "a SetClassifier gives one label to a set, so that a target must have one symbol; "
                f"got {decoder_input.shape[1]}"
            )
        function = ACTIVATIONS[self.activation]
        mask = Padding(~jnp.isnan(source).any(-1))
        hidden = function(Dense((self.width,), name="items_in")(jnp.nan_to_num(source)))
        items = Dense((self.width,), name="items_out")(hidden)
        query = self.param("query", nn.initializers.normal(1.0), (self.width,))
        query = jnp.broadcast_to(query, (len(source), 1, self.width)).astype(items.dtype)
        context = self.attention(query, items, items, mask, deterministic=deterministic)
        hidden = function(Dense((self.width,), name="context")(context))
        glorot = nn.initializers.glorot_uniform()
        return hidden, self.param("label", glorot, (self.vocabulary, self.width))

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Items, decoder_input: Words) -> Attentions:
        present = ~jnp.isnan(source).any(-1)
        mask = pairs(jnp.ones_like(decoder_input, bool), present)
        return layer_attentions(
            tree, mask, "attention", words=(decoder_input, None), to_source=True
        )
