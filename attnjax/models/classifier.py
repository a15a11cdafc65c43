"""Text classification: an encoder, one attention to its states, one label."""

from dataclasses import field
from typing import Any, Self

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.mask import Padding
from attnjax.attention.score import Dot
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.data.special_tokens import PAD
from attnjax.data.vocabularies import Side
from attnjax.errors import UserError
from attnjax.models.base import SequenceModel, logits
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.sown_attention import LayerAttention, layer_attentions, pairs, sown
from attnjax.models.text_encoder import EncodedText, TextEncoder
from attnjax.nn.dropout import Dropout
from attnjax.nn.embedding import lookup
from attnjax.nn.length_limit import MaxLength
from attnjax.nn.lift import inherit


class Classifier(SequenceModel):
    """p(label) = softmax(embedding of the label * context), context = attention(query, states).

    The states h_1, ..., h_S and the query are the encoder's: of a recurrent one the query is [h_S
    of the forward direction; h_1 of the backward direction], of self-attention the state of a
    learned vector that stands before the text. PAD is masked; END counts as a word of the source,
    so that no text is empty. The label depends on the context alone: nothing goes around the
    attention.

    Dropout falls on the embeddings, within the encoder, and on the context.

    Attributes:
        vocabulary: the number of symbols of the target; None until the data is read.
        source_vocabulary: the number of words; None until the data is read.
        width: D, of the embeddings.
        encoder: reads the text: `Encoder`, recurrent, or `SelfAttentionEncoder`.
        attention: of the query to the states; None: the query itself is classified.
        dropout: the rate.

    Source: Zhou et al. 2016, section 3.3, eq. 9 to 12. There the query is a learned vector, a state
        is the sum of both directions and not their concatenation, and tanh is applied to the states
        before they are scored and to the context. The score is Luong et al. 2015's, section 3.1.
    """

    predicts_label = True

    vocabulary: PositiveInt | None = None
    source_vocabulary: PositiveInt | None = None
    width: PositiveInt = 100
    encoder: TextEncoder = field(default_factory=lambda: Encoder(width=100))
    attention: AttentionBase | None = field(default_factory=lambda: Attention(score=Dot()))
    dropout: DropoutRate = 0.5

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        if source is None or target is None:
            raise UserError(
                "a Classifier wants words and labels, a vocabulary of each; "
                f"got {source} source and {target} target symbols"
            )
        return self.fill(source_vocabulary=source, vocabulary=target)

    @nn.nowrap
    def max_length(self, side: Side) -> MaxLength | None:
        """The source's only: the target is one label."""
        return super().max_length(side) if side == "source" else None

    @nn.nowrap
    def alignment(self, params: Any, source: jax.Array, decoder_input: jax.Array) -> jax.Array:
        """The weights [B, 1, S] of the states for the label, the mean over heads."""
        weights = sown(self.sown_attention(params, source, decoder_input), "attention")
        return weights.reshape(len(source), -1, *weights.shape[-2:]).mean(1)

    @nn.nowrap
    def attentions(
        self, params: Any, source: jax.Array, decoder_input: jax.Array
    ) -> tuple[LayerAttention, ...]:
        """The encoder's own attentions, if it has any, and that of the query to the states."""
        tree, present = self.sown_attention(params, source, decoder_input), source != PAD
        mask = pairs(jnp.ones_like(decoder_input, bool), present)
        last = layer_attentions(tree, mask, "attention")
        return (*self.encoder.attentions(tree, present), *last)

    def setup(self) -> None:
        """Make the embeddings, and fill what the encoder leaves to the model."""
        if self.vocabulary is None or self.source_vocabulary is None:
            raise ValueError("a model's vocabularies must be numbers before it is used; got None")
        normal = nn.initializers.normal(self.width**-0.5)
        self.embedding = self.param("embedding", normal, (self.source_vocabulary, self.width))
        self.read = inherit(self.encoder, dropout=self.dropout)
        self.drop = Dropout(self.dropout)
        states = self.encoder.state_width(self.width)
        glorot = nn.initializers.glorot_uniform()
        self.output_embedding = self.param("label", glorot, (self.vocabulary, states))

    def encode(self, source: jax.Array, *, deterministic: bool) -> tuple[EncodedText, Padding]:
        present = source != PAD
        x = self.drop(lookup(self.embedding, source), deterministic=deterministic)
        return self.read.read(x, present, deterministic=deterministic), Padding(present)

    def features(
        self, source: jax.Array, decoder_input: jax.Array, *, deterministic: bool
    ) -> tuple[jax.Array, jax.Array]:
        """The context [B, 1, W] and the embeddings of the labels [V, W].

        Args:
            source: [B, S].
            decoder_input: START alone, [B, 1]; its value is not used.
            deterministic: whether to leave out dropout and all else that is random.

        Raises:
            UserError: the target is not one symbol.
        """
        if decoder_input.shape[1] != 1:
            raise UserError(
                "a Classifier gives one label to a text, so that a target must have one symbol; "
                f"got {decoder_input.shape[1]}"
            )
        constants = self._constants(*self.encode(source, deterministic=deterministic))
        context = self._context(constants, deterministic=deterministic)
        return self.drop(context, deterministic=deterministic), self.output_embedding

    def start(
        self, memory: EncodedText, mask: Padding, *, length: int, beams: int
    ) -> tuple[Any, tuple[()], tuple[()]]:
        """The constants; no cache and no state, for there is one step."""
        del length, beams
        return self._constants(memory, mask), (), ()

    def step(
        self,
        constants: Any,
        cache: tuple[()],
        state: tuple[()],
        word: jax.Array,
        step: jax.Array,
    ) -> tuple[jax.Array, tuple[()], tuple[()]]:
        """The logits of the label, [B, K, V]; they do not depend on the word [B, K]."""
        del step
        found = logits(self._context(constants, deterministic=True), self.output_embedding)
        return jnp.broadcast_to(found, (*word.shape, found.shape[-1])), cache, state

    def _constants(self, memory: EncodedText, mask: Padding) -> Any:
        """The query, the attention's memory of the text, and the mask of its words."""
        states = memory.states
        prepared = None if self.attention is None else self.attention.prepare(states, states)
        return memory.query, prepared, mask

    def _context(self, constants: Any, *, deterministic: bool) -> jax.Array:
        """The vector that is classified, [B, 1, W]."""
        query, memory, mask = constants
        if self.attention is None:
            return query
        return self.attention.attend(query, memory, mask, deterministic=deterministic)
