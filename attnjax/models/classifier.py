"""A text as one label: read in both directions, attended to once, classified by what was found."""

from dataclasses import field
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.mask import Padding
from attnjax.attention.score import Dot
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.models.base import Model, logits, sown
from attnjax.models.rnn_encoder import Encoder
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import inherit


class Text(NamedTuple):
    """A text that was read.

    Attributes:
        states: of every word, [B, S, W]; W is the encoder's width times its directions.
        query: the last layer's states after the last word of each direction, [B, 1, W].
    """

    states: jax.Array
    query: jax.Array


class Classifier(Model):
    """p(label) = softmax(table context), context = attention(query, states, states).

    The states h_1, ..., h_S are a recurrent encoder's, the query is what it ends with: [h_S of the
    forward direction; h_1 of the backward one]. PAD is masked, row by row; END counts as a word of
    the source, so that no text is without one. The label depends on the context alone: nothing
    passes by the attention.

    Dropout falls on the embeddings and on the context.

    Attributes:
        vocabulary: the number of symbols of the target; None until the data is read.
        source_vocabulary: the number of words, likewise.
        width: D, of the embeddings.
        encoder: what reads the text.
        attention: of the query to the states; None: the query itself is what is classified.
        dropout: the rate.

    Source: Zhou et al. 2016, section 3.3, eq. 9 to 12, where the query is a learned vector, a state
        the sum of both directions, not their concatenation, and tanh is taken of the states that
        are scored and of what is found. The score is Luong et al. 2015's, section 3.1.
    """

    vocabulary: PositiveInt | None = None
    source_vocabulary: PositiveInt | None = None
    width: PositiveInt = 100
    encoder: Encoder = field(default_factory=lambda: Encoder(width=100))
    attention: AttentionBase | None = field(default_factory=lambda: Attention(score=Dot()))
    dropout: DropoutRate = 0.5

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        if source is None or target is None:
            raise UserError(
                "a Classifier wants words and labels, a vocabulary of each; "
                f"got {source} source and {target} target symbols"
            )
        return self.clone(source_vocabulary=source, vocabulary=target)

    @nn.nowrap
    def alignment(self, params: Any, source: jax.Array, given: jax.Array) -> jax.Array:
        """What the label's context was made with, [B, 1, S]; of several heads, their mean."""
        weights = sown(self.sown_attention(params, source, given), "attention")
        return weights.reshape(len(source), -1, *weights.shape[-2:]).mean(1)

    def setup(self) -> None:
        """Make the tables, and fill what the encoder leaves to the model."""
        if self.vocabulary is None or self.source_vocabulary is None:
            raise ValueError("a model's vocabularies must be numbers before it is used; got None")
        normal = nn.initializers.normal(self.width**-0.5)
        self.embedding = self.param("embedding", normal, (self.source_vocabulary, self.width))
        self.read = inherit(self.encoder, dropout=self.dropout)
        self.drop = Dropout(self.dropout)
        states = self.encoder.width * (2 if self.encoder.direction == "both" else 1)
        glorot = nn.initializers.glorot_uniform()
        self.table = self.param("label", glorot, (self.vocabulary, states))

    def encode(self, source: jax.Array, *, deterministic: bool) -> tuple[Text, Padding]:
        """Source [B, S] -> what was read of it, and the mask of its words."""
        present = source != PAD
        x = self.drop(self.embedding[source], deterministic=deterministic)
        states, final = self.read(x, present, deterministic=deterministic)
        query = jnp.concatenate([carry[-1] for carry in final[-1]], axis=-1)
        return Text(states, query[:, None]), Padding(present)

    def features(
        self, source: jax.Array, given: jax.Array, *, deterministic: bool
    ) -> tuple[jax.Array, jax.Array]:
        """What the logits are the product of: the context [B, 1, W], the table [V, W].

        Args:
            source: [B, S].
            given: what stands before the label, START alone, [B, 1]; it is not looked at.
            deterministic: no dropout.

        Raises:
            UserError: the target is not one symbol.
        """
        if given.shape[1] != 1:
            raise UserError(
                "a Classifier gives one label to a text; a target of one symbol was wanted, "
                f"got {given.shape[1]}"
            )
        held = self._hold(*self.encode(source, deterministic=deterministic))
        context = self._context(held, deterministic=deterministic)
        return self.drop(context, deterministic=deterministic), self.table

    def __call__(self, source: jax.Array, given: jax.Array, *, deterministic: bool) -> jax.Array:
        """Source [B, S], given [B, 1] -> logits [B, 1, V]."""
        return logits(*self.features(source, given, deterministic=deterministic))

    def start(
        self, memory: Text, mask: Padding, *, length: int, size: int
    ) -> tuple[Any, tuple[()], tuple[()]]:
        """What `step` holds; nothing is written or carried, for there is one step."""
        del length, size
        return self._hold(memory, mask), (), ()

    def step(
        self,
        constants: Any,
        written: tuple[()],
        carry: tuple[()],
        word: jax.Array,
        place: jax.Array,
    ) -> tuple[jax.Array, tuple[()], tuple[()]]:
        """The logits of the label, [B, K, V]; the same whatever the word [B, K] is."""
        del place
        found = logits(self._context(constants, deterministic=True), self.table)
        return jnp.broadcast_to(found, (*word.shape, found.shape[-1])), written, carry

    def _hold(self, memory: Text, mask: Padding) -> Any:
        """The query, the text as the attention wants it, and the mask of its words."""
        states = memory.states
        prepared = None if self.attention is None else self.attention.prepare(states, states)
        return memory.query, prepared, mask

    def _context(self, constants: Any, *, deterministic: bool) -> jax.Array:
        """What is classified, [B, 1, W]."""
        query, memory, mask = constants
        if self.attention is None:
            return query
        return self.attention.attend(query, memory, mask, deterministic=deterministic)
