"""The Transformer of Vaswani et al. 2017: encoder and decoder made of attention alone."""

from dataclasses import field
from typing import Any, Self

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.mask import Padding
from attnjax.attention.position import Position, Sinusoidal
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.models.base import Model, logits, sown
from attnjax.models.beam_cache import longer, slots, tread
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer, PostNorm, Residual
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, inherit


class Transformer(Model):
    """Encoder and decoder; one embedding for source, target and output.

    Embeddings are multiplied by sqrt(D); dropout falls on their sum with the positions and on
    what each sub-layer adds (sections 3.4, 3.5, 5.4). PAD is masked everywhere.

    Attributes:
        vocabulary: the number of words; None until the data is read.
        width: D.
        num_encoder_layers: how many.
        num_decoder_layers: how many.
        encoder_layer: the template of one encoder layer.
        decoder_layer: the template of one decoder layer.
        position: added to the embeddings.
        residual: where the normalisation stands.
        dropout: the paper's P_drop.

    Source: Vaswani et al. 2017, Figure 1.
    """

    vocabulary: PositiveInt | None = None
    width: PositiveInt = 512
    num_encoder_layers: PositiveInt = 6
    num_decoder_layers: PositiveInt = 6
    encoder_layer: EncoderLayer = field(default_factory=EncoderLayer)
    decoder_layer: DecoderLayer = field(default_factory=DecoderLayer)
    position: Position = field(default_factory=Sinusoidal)
    residual: Residual = field(default_factory=PostNorm)
    dropout: DropoutRate = 0.1

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        if target is None or source != target:
            raise UserError(
                "a Transformer has one table for source and target and wants one vocabulary of "
                f"both; got {source} source and {target} target symbols"
            )
        return self.clone(vocabulary=target)

    @nn.nowrap
    def alignment(self, params: Any, source: jax.Array, given: jax.Array) -> jax.Array:
        """The last decoder layer's, the mean over its heads."""
        seen = self.sown_attention(params, source, given)
        weights = sown(seen, f"decoder_layers_{self.num_decoder_layers - 1}", "cross_attention")
        return weights.reshape(weights.shape[0], -1, *weights.shape[-2:]).mean(1)

    def setup(self) -> None:
        """Make every layer its own parts, and fill what it leaves to the model."""
        if self.vocabulary is None:
            raise ValueError("a model's vocabulary must be a number before it is used; got None")
        normal = nn.initializers.normal(self.width**-0.5)
        self.table = self.param("embedding", normal, (self.vocabulary, self.width))
        shared = {"residual": self.residual, "dropout": self.dropout}
        self.encoder_layers = [
            inherit(self.encoder_layer, **shared) for _ in range(self.num_encoder_layers)
        ]
        self.decoder_layers = [
            inherit(self.decoder_layer, **shared) for _ in range(self.num_decoder_layers)
        ]
        self.encoder_residual = clone_template(self.residual)
        self.decoder_residual = clone_template(self.residual)
        # One set of learned positions, as there is one embedding.
        self.where = clone_template(self.position)
        self.drop = Dropout(self.dropout)

    def _embed(self, words: jax.Array, position: jax.Array, *, deterministic: bool) -> jax.Array:
        """Words [B, T] at positions [1 or B, T] -> [B, T, D]."""
        embedding = self.table[words] * jnp.asarray(self.width**0.5, self.table.dtype)
        return self.drop(self.where(embedding, position), deterministic=deterministic)

    def encode(self, source: jax.Array, *, deterministic: bool) -> tuple[jax.Array, Padding]:
        """Source [B, S] -> its states [B, S, D], and the mask of its words."""
        mask = Padding(source != PAD)
        x = self._embed(source, jnp.arange(source.shape[1])[None], deterministic=deterministic)
        for layer in self.encoder_layers:
            x = layer(x, mask, deterministic=deterministic)
        return self.encoder_residual.final(x), mask

    def features(
        self, source: jax.Array, given: jax.Array, *, deterministic: bool
    ) -> tuple[jax.Array, jax.Array]:
        """What the logits are the product of: the decoder's states [B, T, D], the table [V, D].

        Args:
            source: [B, S].
            given: the target moved one place to the right, [B, T].
            deterministic: no dropout.
        """
        memory, mask = self.encode(source, deterministic=deterministic)
        x = self._embed(given, jnp.arange(given.shape[1])[None], deterministic=deterministic)
        for layer in self.decoder_layers:
            x = layer(x, layer.prepare(memory), mask, deterministic=deterministic)
        return self.decoder_residual.final(x), self.table

    def __call__(self, source: jax.Array, given: jax.Array, *, deterministic: bool) -> jax.Array:
        """Source [B, S], given [B, T] -> logits [B, T, V]."""
        return logits(*self.features(source, given, deterministic=deterministic))

    def start(
        self, memory: jax.Array, mask: Padding, *, length: int, size: int
    ) -> tuple[Any, Any, jax.Array]:
        """The source as each layer wants it; empty memories of words; the trails of hypotheses.

        A layer's memory of the target's words has `length` times `size` slots, see `Slots`. A trail
        says in whose slot a hypothesis' word stands, at every place: int [B, K, L].

        Args:
            memory: the source's states.
            mask: of its words.
            length: L, how many words there is room for.
            size: K.

        Raises:
            UserError: more words than the model has positions.
        """
        self._check(length)
        constants = tuple(layer.prepare(memory) for layer in self.decoder_layers), mask
        written = tuple(layer.start(memory, length * size) for layer in self.decoder_layers)
        return constants, written, jnp.zeros((len(memory), size, length), jnp.int32)

    def longer(self, written: Any, carry: jax.Array, *, length: int) -> tuple[Any, jax.Array]:
        self._check(length)
        more = length - carry.shape[-1]
        trail = jnp.pad(carry, ((0, 0), (0, 0), (0, more)))
        return tuple(longer(own, length * trail.shape[1]) for own in written), trail

    def _check(self, length: int) -> None:
        """A step sees one position; only where there is room for words can they be too many."""
        words = jnp.full((1, length), PAD)
        self._embed(words, jnp.arange(length)[None], deterministic=True)

    def step(
        self, constants: Any, written: Any, carry: jax.Array, word: jax.Array, place: jax.Array
    ) -> tuple[jax.Array, Any, jax.Array]:
        """One word a hypothesis [B, K] -> logits of the next [B, K, V], and the state after it."""
        sources, mask = constants
        trail = tread(carry, place)
        where = slots(trail, place)
        # the K words stand at one position, not at K in a row
        position = jnp.broadcast_to(place, (1, 1, 1))
        x = self._embed(word[..., None], position, deterministic=True)[..., 0, :]
        after = []
        for layer, source, own in zip(self.decoder_layers, sources, written, strict=True):
            x, own = layer.step(x, own, where, source, mask)
            after.append(own)
        hidden = self.decoder_residual.final(x)
        return logits(hidden, self.table), tuple(after), trail
