"""The heads of BERT: masked words and next sentence, a label per text, a label per word."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.mask import Padding
from attnjax.config.constraints import DropoutRate
from attnjax.data.examples import Examples
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.models.base import (
    MaskedWordModel,
    Predictions,
    WordPositions,
    logits,
    with_bias,
)
from attnjax.models.bert import EPSILON, BertModel, LabelHead
from attnjax.models.sequence_model import LabelModel, SequenceModel
from attnjax.models.shapes import Embedded, Features, NextWord, Source, Step, Text, Words
from attnjax.nn.dropout import Dropout
from attnjax.nn.linear import Dense
from attnjax.nn.norm import LayerNorm


class BertClassifier(BertModel, LabelModel):
    """p(label) = softmax(W pooled + b), pooled = tanh(W_p h_0 + b_p), h_0 the state of START.

    Dropout is applied to the pooled vector.

    Source: Devlin et al. 2019, section 4.1; the tanh is in the authors' program only.
    """

    dropout: DropoutRate = 0.1

    @nn.nowrap
    def alignment(self, params: Any, source: Text, decoder_input: Words) -> Float[Array, "B 1 S"]:
        """Return the words' weights for START in the last layer; they sum to 1 less START's own."""
        return super().alignment(params, source, decoder_input)[:, :1, 1:]

    def setup(self) -> None:
        super().setup()
        self.pooler = Dense((self.bert.width,))
        self.label = LabelHead(self.vocabulary)
        self.drop = Dropout(self.dropout)

    def label_features(self, source: Text, *, deterministic: bool) -> Features:
        """Return the pooled vector and the labels' weights, each with its part of the bias."""
        states = self.encoder(source, deterministic=deterministic)
        return self._pool_states(states, deterministic=deterministic)

    def _pool_states(self, states: Float[Array, "B S _"], *, deterministic: bool) -> Features:
        """Compute `label_features` from the states, START's first."""
        pooled = jnp.tanh(self.pooler(states[:, :1]))
        return self.label(self.drop(pooled, deterministic=deterministic))


class BertPretraining(BertClassifier, MaskedWordModel):
    """Predicts masked words; of two sentences also whether the second follows the first.

        p(word) = softmax(E norm(gelu(W h_t + c)) + b), E the embedding of the words

    Data without labels train the masked words alone, and the model has no head for labels.

    Source: Devlin et al. 2019, section 3.1; the transform before E is in the authors' program only.
    """

    text = ("source",)

    def setup(self) -> None:
        BertModel.setup(self)
        self.transform = Dense((self.bert.width,))
        self.norm = LayerNorm(epsilon=EPSILON)
        zeros = nn.initializers.zeros
        self.word_bias = self.param("word_bias", zeros, (self.source_vocabulary,))
        if self.vocabulary is not None:
            self.pooler = Dense((self.bert.width,))
            self.next_sentence = self.label = LabelHead(self.vocabulary)
            self.drop = Dropout(self.dropout)

    def predict(
        self, source: Text, positions: WordPositions, *, deterministic: bool
    ) -> Predictions:
        states = self.encoder(source, deterministic=deterministic)
        label = None
        if self.vocabulary is not None:
            label = self._pool_states(states, deterministic=deterministic)
        hidden = jnp.take_along_axis(states[:, 1:], positions[..., None], axis=1)
        hidden = self.norm(nn.gelu(self.transform(hidden), approximate=False))
        words = self.encoder.embedding[: self.source_vocabulary]
        return Predictions(with_bias(hidden, words, self.word_bias), label)

    def __call__(
        self, source: Text, decoder_input: Words, *, deterministic: bool
    ) -> Float[Array, "B S V"]:
        positions = jnp.broadcast_to(jnp.arange(source.shape[1])[None], source.shape)
        return logits(*self.predict(source, positions, deterministic=deterministic).words)


class BertTagger(BertModel, SequenceModel):
    """p(tag t) = softmax(W h_t + b): a tag for each word of the source, and END for its END.

    Dropout is applied to the states.

    Source: Devlin et al. 2019, section 5.3 and Figure 4 (d).
    """

    dropout: DropoutRate = 0.1

    @nn.nowrap
    def check_examples(self, examples: Examples, where: str) -> None:
        lengths = examples.lengths
        for index in np.flatnonzero(lengths[:, 0] != lengths[:, 1])[:1]:
            source, target = lengths[index]
            raise UserError(
                f"a BertTagger wants a tag for each symbol of the source; sentence {index + 1} "
                f"{where} has {source} symbols and {target} tags (END counted)"
            )

    def setup(self) -> None:
        super().setup()
        self.tag = LabelHead(self.vocabulary)
        self.drop = Dropout(self.dropout)

    def encode(self, source: Text, *, deterministic: bool) -> tuple[Embedded, Padding]:
        return self.encoder(source, deterministic=deterministic)[:, 1:], Padding(source != PAD)

    def features(self, source: Source, decoder_input: Words, *, deterministic: bool) -> Features:
        """Return the states of the first T words; tags do not depend on the decoder's input."""
        states, _ = self.encode(source, deterministic=deterministic)
        states = self.drop(states[:, : decoder_input.shape[1]], deterministic=deterministic)
        return self.tag(states)

    def start(self, memory: Array, mask: Padding, *, length: int, beams: int) -> Any:
        """Return the logits of all tags, [B, S, V]."""
        return logits(*self.tag(memory)), (), ()

    def step(self, constants: Array, cache: Any, state: Any, word: Words, step: Step) -> NextWord:
        """Return the logits of the tag at this position; after the source those of its last."""
        position = jnp.minimum(step, constants.shape[1] - 1)
        tag = jax.lax.dynamic_index_in_dim(constants, position, axis=1)
        return jnp.broadcast_to(tag, (*word.shape, tag.shape[-1])), cache, state
