"""From sequence to sequence with recurrent networks: Sutskever, Cho, Bahdanau, Luong."""

from dataclasses import field
from typing import Any, Self

import jax
from flax import linen as nn

from attnjax.attention.mask import Padding
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.models.base import Model, each, logits, sown
from attnjax.models.rnn_decoders import Decoder, LuongDecoder
from attnjax.models.rnn_encoder import Encoder, EncoderOutput
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import inherit, scan_time, vmap_beams


class Seq2Seq(Model):
    """An encoder that reads the source, a decoder that writes the target.

    Source, target and output have a table each. Dropout falls on the words, and where encoder and
    decoder say. PAD is masked everywhere.

    Attributes:
        source_vocabulary: the number of source words; None until the data is read.
        vocabulary: the number of target words; likewise.
        width: E, of the words.
        encoder: its states are what is attended to.
        decoder: what is papers' own, see `attnjax.models.rnn_decoders`.
        dropout: as in Zaremba et al. 2014, on what does not recur.

    Source: Sutskever et al. 2014; Cho et al. 2014; Bahdanau et al. 2015; Luong et al. 2015.
    """

    source_vocabulary: PositiveInt | None = None
    vocabulary: PositiveInt | None = None
    width: PositiveInt = 512
    encoder: Encoder = field(default_factory=Encoder)
    decoder: Decoder = field(default_factory=LuongDecoder)
    dropout: DropoutRate = 0.2

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        if source is None or target is None:
            raise UserError(
                f"{type(self).__name__} wants text on both sides; got {source} source and {target} "
                "target symbols"
            )
        return self.clone(source_vocabulary=source, vocabulary=target)

    @nn.nowrap
    def alignment(self, params: Any, source: jax.Array, given: jax.Array) -> jax.Array:
        """The decoder's, the mean over heads if it has several."""
        weights = sown(self.sown_attention(params, source, given), "writer", "attention")
        return weights.reshape(*weights.shape[:2], -1, weights.shape[-1]).mean(2)

    def setup(self) -> None:
        """Fill what the parts leave to the model."""
        if self.source_vocabulary is None or self.vocabulary is None:
            raise ValueError("a model's vocabularies must be numbers before it is used; got None")
        # variance 1 into the units, as their matrices assume
        normal = nn.initializers.normal(1.0)
        self.source_table = self.param("source", normal, (self.source_vocabulary, self.width))
        self.target_table = self.param("target", normal, (self.vocabulary, self.width))
        shape = (self.vocabulary, self.decoder.out_width)
        self.table = self.param("output", nn.initializers.glorot_uniform(), shape)
        self.reader = inherit(self.encoder, dropout=self.dropout)
        self.writer = inherit(self.decoder, dropout=self.dropout)
        self.drop = Dropout(self.dropout)

    def encode(self, source: jax.Array, *, deterministic: bool) -> tuple[EncoderOutput, Padding]:
        """Source [B, S] -> what was read of it, and the mask of its words."""
        words = self.drop(self.source_table[source], deterministic=deterministic)
        return self.reader(words, source != PAD, deterministic=deterministic), Padding(
            source != PAD
        )

    def features(
        self, source: jax.Array, given: jax.Array, *, deterministic: bool
    ) -> tuple[jax.Array, jax.Array]:
        """What the logits are the product of: [B, T, D], the table [V, D].

        Args:
            source: [B, S].
            given: the target moved one place to the right, [B, T].
            deterministic: no dropout.
        """
        constants, carry = self.writer.start(*self.encode(source, deterministic=deterministic))
        words = self.drop(self.target_table[given], deterministic=deterministic)

        def step(writer: Decoder, carry: Any, projected: jax.Array) -> tuple[Any, Any]:
            return writer.step(constants, carry, projected, deterministic=deterministic)

        _, seen = scan_time(step)(self.writer, carry, self.writer.project(words))
        return self.writer.output(words, seen, deterministic=deterministic), self.table

    def __call__(self, source: jax.Array, given: jax.Array, *, deterministic: bool) -> jax.Array:
        """Source [B, S], given [B, T] -> logits [B, T, V]."""
        return logits(*self.features(source, given, deterministic=deterministic))

    def start(
        self, memory: EncoderOutput, mask: Padding, *, length: int, size: int
    ) -> tuple[Any, tuple[()], Any]:
        """What `step` holds once a sentence, and what `size` hypotheses carry; nothing is written.

        Args:
            memory: what was read.
            mask: of its words.
            length: of no account: a state does not grow.
            size: K.
        """
        del length
        constants, carry = self.writer.start(memory, mask)
        return constants, (), each(carry, size)

    def step(
        self, constants: Any, written: tuple[()], carry: Any, word: jax.Array, place: jax.Array
    ) -> tuple[jax.Array, tuple[()], Any]:
        """One word a hypothesis [B, K] -> logits of the next [B, K, V], and the state after it."""
        del place  # the writer counts for itself

        def one(writer: Decoder, carry: Any, projected: jax.Array) -> tuple[Any, Any]:
            return writer.step(constants, carry, projected, deterministic=True)

        words = self.target_table[word]
        carry, seen = vmap_beams(one)(self.writer, carry, self.writer.project(words))
        hidden = self.writer.output(words, seen, deterministic=True)
        return logits(hidden, self.table), written, carry
