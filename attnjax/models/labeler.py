"""A model that gives labels to words of a source, where they are asked for."""

from dataclasses import field
from typing import Any, Literal, Self

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float, Int

from attnjax.attention.mask import Padding
from attnjax.attention.position import Learned, Position
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.models.base import Model, logits
from attnjax.models.language_model import gpt_layer
from attnjax.models.layer_stack import check_no_cross_attention, decode_in_parallel, stacked
from attnjax.models.shapes import Embedded, Features, Source, Text
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs
from attnjax.models.transformer_layers import (
    DecoderLayer,
    EncoderLayer,
    Interleaved,
    PreNorm,
    Residual,
)
from attnjax.nn.dropout import Dropout
from attnjax.nn.embedding import lookup
from attnjax.nn.initializers import GPTInit, Initializer
from attnjax.nn.lift import clone_template

Places = Int[Array, "B K"]
"""Positions in a source, 0 the first word."""
Asked = Int[Array, "B K 2"]
"""Places and the labels there; a label PAD: nothing is asked."""


def check_labeler(model: Model, owner: str) -> None:
    """Refuse, in its owner's name, a model that gives no labels to words of a source."""
    if not isinstance(model, Labeler):
        raise UserError(
            f"{owner} wants a model that gives labels to words, a Labeler; got "
            f"{type(model).__name__}"
        )


class Labeler(Model):
    """p(label at place s | source) = softmax(output embedding h_s), at the asked places s alone.

        h_1 ... h_S = layers(x_1 ... x_S)

    With a `DecoderLayer` h_s depends on the words up to s, with an `EncoderLayer` on all words.
    PAD stands at the end of a source alone. The input of the decoder are the asked places with
    their labels, of which the labels are not read: see `LabeledPlaces`.

    Dropout is applied to the sum of embedding and position, and to what each sub-layer adds.

    Attributes:
        embeddings: "separate": a table for the words and one for the labels; "tied": one for both,
            which then have one vocabulary.
        width: D, of embeddings and layers.
        interleaved: another kind of layer between those that are `layer`; None: there is none.
        input_scale: what embeddings are multiplied by in the input: 1, or sqrt(D).
    """

    limited = ("source",)
    gives_labels = True

    source_vocabulary: PositiveInt | None = None
    vocabulary: PositiveInt | None = None
    embeddings: Literal["separate", "tied"] = "separate"
    width: PositiveInt = 128
    num_layers: PositiveInt = 2
    layer: DecoderLayer | EncoderLayer = field(default_factory=gpt_layer)
    interleaved: Interleaved | None = None
    position: Position = field(default_factory=Learned)
    residual: Residual = field(default_factory=PreNorm)
    dropout: DropoutRate = 0.0
    input_scale: Literal["one", "sqrt_width"] = "one"
    initializer: Initializer | None = field(default_factory=GPTInit)

    @property
    def one_vocabulary(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.embeddings == "tied"

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        check_no_cross_attention("Labeler", self.layer, self.interleaved)
        return super().with_vocabularies(source, target)

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Text, decoder_input: Asked) -> Attentions:
        """Yield every layer's self-attention over the source, from below."""
        mask = pairs(source != PAD, source != PAD)
        if isinstance(self.layer, DecoderLayer):
            mask = jnp.tril(mask)
        for number in range(self.num_layers):
            yield from layer_attentions(tree, mask, f"layers_{number}", words=(source, source))

    def setup(self) -> None:
        normal = nn.initializers.normal(self.width**-0.5)
        self.embedding = self.param("embedding", normal, (self.source_vocabulary, self.width))
        self.output_embedding = self.embedding
        if self.embeddings == "separate":
            shape = (self.vocabulary, self.width)
            self.output_embedding = self.param("output_embedding", normal, shape)
        shared = {"residual": self.residual, "dropout": self.dropout}
        self.layers = stacked(self.layer, self.interleaved, self.num_layers, **shared)
        self.last_residual = clone_template(self.residual)
        self.position_encoding = clone_template(self.position)
        self.drop = Dropout(self.dropout)

    def read(self, source: Text, *, deterministic: bool) -> Embedded:
        """Return the hidden vector of every word."""
        present = source != PAD
        valid = None if deterministic else present
        x = lookup(self.embedding, source)
        if self.input_scale == "sqrt_width":
            x = x * jnp.asarray(self.width**0.5, x.dtype)
        x = self.position_encoding(x, jnp.arange(source.shape[1])[None])
        x = self.drop(x, deterministic=deterministic)
        options: dict[str, Any] = {"valid": valid, "deterministic": deterministic}
        if isinstance(self.layer, DecoderLayer):
            x = decode_in_parallel(self.layers, x, x, Padding(present), **options)
        else:
            for layer in self.layers:
                x = layer(x, Padding(present), **options)
        return self.last_residual.final(x, valid)

    def labels(self, source: Text, places: Places, *, deterministic: bool) -> Features:
        """Return the hidden vectors at places [B, K], and the embedding of the labels."""
        hidden = self.read(source, deterministic=deterministic)
        return jnp.take_along_axis(hidden, places[..., None], axis=1), self.output_embedding

    def __call__(
        self, source: Source, decoder_input: Array, *, deterministic: bool
    ) -> Float[Array, "B K V"]:
        """Return the logits of every label at the asked places.

        Raises:
            UserError: the second array is no places with labels, [B, K, 2].
        """
        if decoder_input.ndim != 3:
            raise UserError(
                "a Labeler is asked for labels at places, an array [B, K, 2]; got an array "
                f"{[*decoder_input.shape]}: it wants a task of LabeledPlaces"
            )
        return logits(*self.labels(source, decoder_input[..., 0], deterministic=deterministic))
