"""Recurrent sequence-to-sequence models: Sutskever, Cho, Bahdanau, Luong."""

from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array

from attnjax.attention.mask import Padding, Segments
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.data.batch_plan import Packing
from attnjax.data.special_tokens import PAD
from attnjax.models.base import PackingModel, logits
from attnjax.models.packed_rows import positions_in, sentence_starts
from attnjax.models.rnn_decoders import DecoderSource, LuongDecoder, RNNDecoder
from attnjax.models.rnn_encoder import Encoder, EncoderOutput
from attnjax.models.sequence_model import SequenceModel, repeat_beams, select_rows
from attnjax.models.shapes import Features, NextWord, Source, Step, Text, Words
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs, queries_of
from attnjax.nn.dropout import Dropout
from attnjax.nn.embedding import lookup
from attnjax.nn.lift import inherit, scan_time, vmap_beams


class Seq2Seq(SequenceModel, PackingModel):
    """A recurrent encoder reads the source, a recurrent decoder writes the target.

    Source words, target words and output words have an embedding each. Dropout is applied to the
    embedded words, and in encoder and decoder as they say.

    Attributes:
        width: E, of the embeddings of source and target words.
        dropout: on what does not recur, as in Zaremba et al. 2014.

    Source: Sutskever et al. 2014; Cho et al. 2014; Bahdanau et al. 2015; Luong et al. 2015.
    """

    limited = ("source",)  # the keys of the attention are source words

    source_vocabulary: PositiveInt | None = None
    width: PositiveInt = 512
    encoder: Encoder = field(default_factory=lambda: Encoder(width=256))
    decoder: RNNDecoder = field(default_factory=LuongDecoder)
    dropout: DropoutRate = 0.2

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Text, decoder_input: Words) -> Attentions:
        words = source != PAD
        mask = pairs(queries_of(decoder_input, words), words)
        return layer_attentions(
            tree, mask, "writer", words=(decoder_input, source), by_step=True, to_source=True
        )

    def setup(self) -> None:
        # Embedded words have variance 1, as the initial values of the cells' matrices assume.
        normal = nn.initializers.normal(1.0)
        self.source_embedding = self.param("source", normal, (self.source_vocabulary, self.width))
        self.target_embedding = self.param("target", normal, (self.vocabulary, self.width))
        shape = (self.vocabulary, self.decoder.out_width)
        self.output_embedding = self.param("output", nn.initializers.glorot_uniform(), shape)
        self.reader = inherit(self.encoder, dropout=self.dropout)
        self.writer = inherit(self.decoder, dropout=self.dropout)
        self.drop = Dropout(self.dropout)

    def encode(
        self, source: Source, *, packing: Packing | None = None, deterministic: bool
    ) -> tuple[EncoderOutput, Padding]:
        words = self.drop(lookup(self.source_embedding, source), deterministic=deterministic)
        present, sentence = source != PAD, None if packing is None else packing.source
        encoded = self.reader(words, present, sentence=sentence, deterministic=deterministic)
        return encoded, Padding(present)

    def features(
        self,
        source: Source,
        decoder_input: Words,
        *,
        packing: Packing | None = None,
        deterministic: bool,
    ) -> Features:
        encoded, mask = self.encode(source, packing=packing, deterministic=deterministic)
        words = self.drop(lookup(self.target_embedding, decoder_input), deterministic=deterministic)
        memory = self.writer.prepare(encoded.states)
        if packing is None:
            positions = restarts = None
            state = self.writer.first_state(encoded.final)
        else:
            positions = positions_in(packing.source)
            first = self._first_states(encoded, packing.target)
            state = jax.tree.map(lambda leaf: leaf[:, 0], first)
            restarts = packing.target, sentence_starts(packing.target), first

        def step(writer: RNNDecoder, state: Any, word: Any) -> tuple[Any, Any]:
            projected, restart = word
            seen = mask
            if packing is not None:
                sentence, is_first, first = restart
                seen = mask & Segments(sentence[:, None], packing.source)
                state = select_rows(is_first, first, state)
            own = DecoderSource(memory, seen, positions)
            return writer.step(own, state, projected, deterministic=deterministic)

        inputs = self.writer.project(words), restarts
        _, outputs = scan_time(step)(self.writer, state, inputs)
        hidden = self.writer.output(words, outputs, deterministic=deterministic)
        return hidden, self.output_embedding

    def _first_states(self, encoded: EncoderOutput, sentence: Words) -> Any:
        """Return, in packed rows, the state before each position's sentence: [B, T, ...]."""

        def of_targets(leaf: Array) -> Array:
            """Give each word of the target its sentence's: [B, S, W] -> [B T, W]."""
            leaf = jnp.take_along_axis(leaf, sentence[..., None], axis=1, mode="clip")
            return leaf.reshape(-1, leaf.shape[-1])

        first = self.writer.first_state(jax.tree.map(of_targets, encoded.final))
        return jax.tree.map(lambda leaf: leaf.reshape(*sentence.shape, *leaf.shape[1:]), first)

    def start(self, memory: EncoderOutput, mask: Padding, *, length: int, beams: int) -> Any:
        source = DecoderSource(self.writer.prepare(memory.states), mask)
        return source, (), repeat_beams(self.writer.first_state(memory.final), beams)

    def step(self, constants: Any, cache: Any, state: Any, word: Words, step: Step) -> NextWord:
        del step  # the decoder's state counts the words

        def next_word(writer: RNNDecoder, state: Any, projected: Array) -> tuple[Any, Any]:
            return writer.step(constants, state, projected, deterministic=True)

        words = self.target_embedding[word]
        state, outputs = vmap_beams(next_word)(self.writer, state, self.writer.project(words))
        hidden = self.writer.output(words, outputs, deterministic=True)
        return logits(hidden, self.output_embedding), cache, state
