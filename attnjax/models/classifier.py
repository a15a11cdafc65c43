"""Text classification: an encoder, one attention to its states, one label."""

from dataclasses import field
from typing import Any

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.mask import Padding
from attnjax.attention.score.base import Dot
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.data.special_tokens import PAD
from attnjax.models.base import logits
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.sequence_model import LabelModel
from attnjax.models.shapes import Features, Source, Text, Words
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs
from attnjax.models.text_encoder import EncodedText, TextEncoder
from attnjax.nn.dropout import Dropout
from attnjax.nn.embedding import lookup
from attnjax.nn.lift import inherit


class Classifier(LabelModel):
    """p(label) = softmax(embedding of the label * context), context = attention(query, states).

    The states h_1, ..., h_S and the query are the encoder's: of a recurrent one the query is [h_S
    of the forward direction; h_1 of the backward direction], of self-attention the state of a
    learned vector before the text. END is a word of the source, so that no text is
    empty. The label depends on the context alone: nothing goes around the attention.

    Dropout is applied to the embeddings, within the encoder, and to the context.

    Attributes:
        width: D, of the embeddings.
        attention: of the query to the states; None: the query itself is classified.

    Source: Zhou et al. 2016, section 3.3, eq. 9 to 12. There the query is a learned vector, a state
        is the sum of both directions and not their concatenation, and tanh is applied to the states
        before they are scored and to the context. The score is Luong et al. 2015's, section 3.1.
    """

    source_vocabulary: PositiveInt | None = None
    width: PositiveInt = 100
    encoder: TextEncoder = field(default_factory=lambda: Encoder(width=100))
    attention: AttentionBase | None = field(default_factory=lambda: Attention(score=Dot()))
    dropout: DropoutRate = 0.5

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Source, decoder_input: Words) -> Attentions:
        yield from self.encoder.attentions_in(tree, source)
        mask = pairs(jnp.ones_like(decoder_input, bool), source != PAD)
        yield from layer_attentions(
            tree, mask, "attention", words=(decoder_input, source), to_source=True
        )

    def setup(self) -> None:
        normal = nn.initializers.normal(self.width**-0.5)
        self.embedding = self.param("embedding", normal, (self.source_vocabulary, self.width))
        self.read = inherit(self.encoder, dropout=self.dropout)
        self.drop = Dropout(self.dropout)
        states = self.encoder.state_width(self.width)
        glorot = nn.initializers.glorot_uniform()
        self.output_embedding = self.param("label", glorot, (self.vocabulary, states))

    def label_features(self, source: Text, *, deterministic: bool) -> Features:
        states, context = self._encoded(source, deterministic=deterministic)
        if self.attention is not None:
            mask = Padding(source != PAD)
            context = self.attention(context, states, mask=mask, deterministic=deterministic)
        return self.drop(context, deterministic=deterministic), self.output_embedding

    def place_logits(self, source: Text) -> Float[Array, "B S V"]:
        """Return the label's logits if one position had all the weight of the attention.

        Those of a text are their mean by the weights, if the attention's pool is `WeightedSum`.
        """
        states, _ = self._encoded(source, deterministic=True)
        return logits(states, self.output_embedding)

    def _encoded(self, source: Text, *, deterministic: bool) -> EncodedText:
        x = self.drop(lookup(self.embedding, source), deterministic=deterministic)
        return self.read.read(x, source != PAD, deterministic=deterministic)
