"""Recurrent sequence-to-sequence models: Sutskever, Cho, Bahdanau, Luong."""

from collections.abc import Iterator
from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.mask import Padding, Segments
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.data.packing import Packing
from attnjax.data.special_tokens import PAD
from attnjax.models.base import PackingModel, logits
from attnjax.models.packed_rows import first_places, positions_in
from attnjax.models.rnn_decoders import DecoderSource, LuongDecoder, RNNDecoder
from attnjax.models.rnn_encoder import Encoder, EncoderOutput
from attnjax.models.sequence_model import SequenceModel, repeat_beams
from attnjax.models.sown_attention import LayerAttention, layer_attentions, pairs, queries_of
from attnjax.nn.dropout import Dropout
from attnjax.nn.embedding import lookup
from attnjax.nn.lift import inherit, scan_time, vmap_beams


class Seq2Seq(SequenceModel, PackingModel):
    """A recurrent encoder reads the source, a recurrent decoder writes the target.

    Source words, target words and output words have an embedding each. Dropout falls on the
    embedded words, and where encoder and decoder say. PAD is masked everywhere.

    Attributes:
        source_vocabulary: the number of source words; None until the data is read.
        width: E, of the embeddings of source and target words.
        encoder: the decoder attends to its states.
        decoder: see `attnjax.models.rnn_decoders`.
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
    def attentions_in(
        self, tree: Any, source: jax.Array, decoder_input: jax.Array
    ) -> Iterator[LayerAttention]:
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

    def encode(self, source: jax.Array, *, deterministic: bool) -> tuple[EncoderOutput, Padding]:
        words = self.drop(lookup(self.source_embedding, source), deterministic=deterministic)
        present = source != PAD
        return self.reader(words, present, deterministic=deterministic), Padding(present)

    def features(
        self,
        source: jax.Array,
        decoder_input: jax.Array,
        *,
        packing: Packing | None = None,
        deterministic: bool,
    ) -> tuple[jax.Array, jax.Array]:
        if packing is not None:
            return self._packed(source, decoder_input, packing, deterministic=deterministic)
        constants, state = self.writer.start(*self.encode(source, deterministic=deterministic))
        words = self.drop(lookup(self.target_embedding, decoder_input), deterministic=deterministic)

        def step(writer: RNNDecoder, state: Any, projected: jax.Array) -> tuple[Any, Any]:
            return writer.step(constants, state, projected, deterministic=deterministic)

        _, outputs = scan_time(step)(self.writer, state, self.writer.project(words))
        hidden = self.writer.output(words, outputs, deterministic=deterministic)
        return hidden, self.output_embedding

    def _packed(
        self, source: jax.Array, decoder_input: jax.Array, packing: Packing, *, deterministic: bool
    ) -> tuple[jax.Array, jax.Array]:
        """The `features` of rows of several sentences: each begins with its own source's carry."""
        words = self.drop(lookup(self.source_embedding, source), deterministic=deterministic)
        present, own = source != PAD, packing.target
        encoded = self.reader(words, present, sentence=packing.source, deterministic=deterministic)
        memory, positions = self.writer.prepare(encoded.states), positions_in(packing.source)
        begins, (rows, places) = first_places(own), own.shape
        index = own[..., None]

        def of_targets(leaf: jax.Array) -> jax.Array:
            """[B, S, W], by sentence -> [B T, W]: for each word of the target its sentence's."""
            leaf = jnp.take_along_axis(leaf, index, axis=1, mode="clip")
            return leaf.reshape(-1, leaf.shape[-1])

        first = self.writer.first_state(jax.tree.map(of_targets, encoded.final))
        first = jax.tree.map(lambda leaf: leaf.reshape(rows, places, *leaf.shape[1:]), first)
        words = self.drop(lookup(self.target_embedding, decoder_input), deterministic=deterministic)

        def step(writer: RNNDecoder, state: Any, word: Any) -> tuple[Any, Any]:
            projected, first, begins, own = word
            state = jax.tree.map(
                lambda new, old: jnp.where(begins.reshape(-1, *[1] * (old.ndim - 1)), new, old),
                first,
                state,
            )
            mask = Padding(present) & Segments(own[:, None], packing.source)
            seen = DecoderSource(memory, mask, positions)
            return writer.step(seen, state, projected, deterministic=deterministic)

        start = jax.tree.map(lambda leaf: leaf[:, 0], first)
        inputs = (self.writer.project(words), first, begins, own)
        _, outputs = scan_time(step)(self.writer, start, inputs)
        hidden = self.writer.output(words, outputs, deterministic=deterministic)
        return hidden, self.output_embedding

    def start(
        self, memory: EncoderOutput, mask: Padding, *, length: int, beams: int
    ) -> tuple[Any, tuple[()], Any]:
        constants, state = self.writer.start(memory, mask)
        return constants, (), repeat_beams(state, beams)

    def step(
        self, constants: Any, cache: tuple[()], state: Any, word: jax.Array, step: jax.Array
    ) -> tuple[jax.Array, tuple[()], Any]:
        del step  # the decoder's state counts the words

        def next_word(writer: RNNDecoder, state: Any, projected: jax.Array) -> tuple[Any, Any]:
            return writer.step(constants, state, projected, deterministic=True)

        words = self.target_embedding[word]
        state, outputs = vmap_beams(next_word)(self.writer, state, self.writer.project(words))
        hidden = self.writer.output(words, outputs, deterministic=True)
        return logits(hidden, self.output_embedding), cache, state
