"""The Transformer of Vaswani et al. 2017: encoder and decoder made of attention alone."""

from dataclasses import field
from typing import Any, Literal

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array

from attnjax.attention.mask import Padding
from attnjax.attention.position import Position, Sinusoidal
from attnjax.config.constraints import DropoutRate, NonNegativeInt, PositiveInt
from attnjax.data.batch_plan import Packing
from attnjax.data.special_tokens import PAD
from attnjax.data.vocabularies import Side
from attnjax.errors import UserError
from attnjax.models.base import PackingModel, at_base_width, logits
from attnjax.models.beam_cache import BeamState, empty_memory, gather, grow_cache
from attnjax.models.layer_stack import decode_in_parallel, stacked, step_layers
from attnjax.models.packed_rows import row_masks
from attnjax.models.sequence_model import SequenceModel
from attnjax.models.shapes import Embedded, Features, NextWord, Source, Step, Text, Words
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs, queries_of
from attnjax.models.transformer_layers import (
    DecoderLayer,
    EncoderLayer,
    Interleaved,
    PostNorm,
    Residual,
)
from attnjax.nn.dropout import Dropout
from attnjax.nn.embedding import lookup
from attnjax.nn.length_limit import MaxLength, smallest_limit
from attnjax.nn.lift import clone_template


class Transformer(SequenceModel, PackingModel):
    """A Transformer encoder and decoder.

    Embeddings are multiplied by sqrt(D). Dropout is applied to the sum of embedding and position,
    and to what each sub-layer adds (sections 3.4, 3.5, 5.4).

    Attributes:
        embeddings: the number of tables. "shared": one, of source words, target words and output
            (section 3.4). "tied": two, as target words and output have one (Press and Wolf 2017).
            "separate": three. The logits are the decoder's states times the output's table.
        width: D, of embeddings and layers.
        encoder_interleaved: another kind of layer between those that are `encoder_layer`; None:
            there is none.
        decoder_interleaved: likewise, between those that are `decoder_layer`.
        num_encoder_layers: 0: the decoder attends to embeddings.
        base_width: D_0, the width at which learning rates were tuned: logits are multiplied by
            D_0 / D, and sqrt(D) is sqrt(D_0) instead, see `attnjax.nn.width_transfer`. None: D.

    Source: Vaswani et al. 2017, Figure 1; `base_width`: Yang et al. 2022, Table 8.
    """

    source_vocabulary: PositiveInt | None = None
    embeddings: Literal["shared", "tied", "separate"] = "shared"
    width: PositiveInt = 512
    num_encoder_layers: NonNegativeInt = 6
    num_decoder_layers: PositiveInt = 6
    encoder_layer: EncoderLayer = field(default_factory=EncoderLayer)
    decoder_layer: DecoderLayer = field(default_factory=DecoderLayer)
    position: Position = field(default_factory=Sinusoidal)
    residual: Residual = field(default_factory=PostNorm)
    dropout: DropoutRate = 0.1
    encoder_interleaved: Interleaved | None = None
    decoder_interleaved: Interleaved | None = None
    base_width: PositiveInt | None = None

    @property
    def one_vocabulary(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.embeddings == "shared"

    @nn.nowrap
    def max_length(self, side: Side) -> MaxLength | None:
        """Return the smallest limit: of positions on both sides, of an attention on its keys'."""
        decoders: dict[str, Any] = {"model.decoder_layer": self.decoder_layer}
        if self.decoder_interleaved is not None:
            decoders["model.decoder_interleaved.layer"] = self.decoder_interleaved.layer
        source: dict[str, Any] = {
            "model.encoder_layer": self.encoder_layer,
            "model.encoder_interleaved": self.encoder_interleaved,
            **{
                f"{path}.cross_attention": layer.cross_attention for path, layer in decoders.items()
            },
        }
        target = {f"{path}.self_attention": each.self_attention for path, each in decoders.items()}
        keys = source if side == "source" else target
        return smallest_limit({"model.position": self.position, **keys})

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Text, decoder_input: Words) -> Attentions:
        """Yield every layer's attentions: the encoder's first, then the decoder's, from below."""
        words = source != PAD
        queries = queries_of(decoder_input, words)
        own = jnp.tril(pairs(queries, jnp.ones_like(queries)))
        across = pairs(queries, words)
        of_source: dict[str, Any] = {"words": (decoder_input, source), "to_source": True}
        for number in range(self.num_encoder_layers):
            name, read = f"encoder_layers_{number}", (source, source)
            yield from layer_attentions(tree, pairs(words, words), name, words=read)
        for number in range(self.num_decoder_layers):
            name, read = f"decoder_layers_{number}", (decoder_input, decoder_input)
            yield from layer_attentions(tree, own, name, "self_attention", words=read)
            yield from layer_attentions(tree, across, name, "cross_attention", **of_source)

    def setup(self) -> None:
        normal = nn.initializers.normal(self.width**-0.5)
        source, target = (self.source_vocabulary, self.width), (self.vocabulary, self.width)
        self.target_embedding = self.param("embedding", normal, target)
        self.source_embedding = self.output_embedding = self.target_embedding
        if self.embeddings != "shared":
            self.source_embedding = self.param("source_embedding", normal, source)
        if self.embeddings == "separate":
            self.output_embedding = self.param("output_embedding", normal, target)
        shared = {"residual": self.residual, "dropout": self.dropout}
        self.encoder_layers = stacked(
            self.encoder_layer, self.encoder_interleaved, self.num_encoder_layers, **shared
        )
        self.decoder_layers = stacked(
            self.decoder_layer, self.decoder_interleaved, self.num_decoder_layers, **shared
        )
        self.encoder_residual = clone_template(self.residual)
        self.decoder_residual = clone_template(self.residual)
        # One set of learned positions for source and target, whatever the embeddings.
        self.position_encoding = clone_template(self.position)
        self.drop = Dropout(self.dropout)

    def _embed(self, table: Array, words: Array, position: Array, *, deterministic: bool) -> Array:
        """Embed words [..., T] at positions that broadcast to them."""
        width = self.base_width or self.width
        embedded = lookup(table, words) * jnp.asarray(width**0.5, table.dtype)
        return self.drop(self.position_encoding(embedded, position), deterministic=deterministic)

    def encode(
        self, source: Source, *, packing: Packing | None = None, deterministic: bool
    ) -> tuple[Embedded, Padding]:
        masks, table = row_masks(source, packing), self.source_embedding
        valid = None if deterministic else source != PAD
        positions = masks.positions.filled(source[..., None], source[..., None]).key
        x = self._embed(table, source, positions, deterministic=deterministic)
        options = {"position": masks.positions.key, "valid": valid}
        for layer in self.encoder_layers:
            x = layer(x, masks.source, **options, deterministic=deterministic)
        return self.encoder_residual.final(x, valid), Padding(source != PAD)

    def features(
        self,
        source: Source,
        decoder_input: Words,
        *,
        packing: Packing | None = None,
        deterministic: bool,
    ) -> Features:
        masks, table = row_masks(source, packing), self.target_embedding
        memory, _ = self.encode(source, packing=packing, deterministic=deterministic)
        valid = None if deterministic else queries_of(decoder_input, source != PAD)
        positions = masks.positions.filled(decoder_input[..., None], source[..., None]).query
        x = self._embed(table, decoder_input, positions, deterministic=deterministic)
        options = {"own_mask": masks.target, "positions": masks.positions, "valid": valid}
        options |= {"deterministic": deterministic}
        x = decode_in_parallel(self.decoder_layers, x, memory, masks.across, **options)
        hidden = at_base_width(self.decoder_residual.final(x, valid), self.base_width)
        return hidden, self.output_embedding

    def start(self, memory: Embedded, mask: Padding, *, length: int, beams: int) -> Any:
        """Return the source's keys and values, and what the decoder keeps before the first word."""
        _check_room(length, self.max_length("target"))
        constants = tuple(layer.prepare(memory) for layer in self.decoder_layers), mask
        pasts = [
            empty_memory(layer.self_attention, memory, length=length, beams=beams)
            for layer in self.decoder_layers
        ]
        return constants, *gather(pasts, jnp.zeros((len(memory), beams, length), jnp.int32))

    def grow_cache(self, cache: Any, state: BeamState, *, length: int) -> Any:
        _check_room(length, self.max_length("target"))
        return grow_cache(cache, state, length=length)

    def step(self, constants: Any, cache: Any, state: Any, word: Words, step: Step) -> NextWord:
        sources, mask = constants
        # The K words are at one position, not at K positions in a row.
        words, position = word[..., None], jnp.broadcast_to(step, (1, 1, 1))
        x = self._embed(self.target_embedding, words, position, deterministic=True)[..., 0, :]
        x, cache, state = step_layers(self.decoder_layers, sources, mask, cache, state, x, step)
        hidden = at_base_width(self.decoder_residual.final(x), self.base_width)
        return logits(hidden, self.output_embedding), cache, state


def _check_room(length: int, limit: MaxLength | None) -> None:
    """Refuse more words than there are positions: a step alone sees one position only."""
    if limit is not None and length > limit.words:
        raise UserError(
            f"a search wants room for {length} words; the model takes at most {limit.words} "
            f"({limit.path})"
        )
