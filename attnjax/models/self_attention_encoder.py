"""A text encoder of self-attention alone: the encoder layers of a Transformer."""

from dataclasses import field
from typing import Any

import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.mask import Padding
from attnjax.attention.position import Position, Sinusoidal
from attnjax.config.constraints import PositiveInt
from attnjax.data.special_tokens import PAD, START
from attnjax.models.shapes import Embedded, Present, Text
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs
from attnjax.models.text_encoder import EncodedText, TextEncoder
from attnjax.models.transformer_layers import EncoderLayer, PostNorm, Residual
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, inherit, inherited


class SelfAttentionEncoder(TextEncoder):
    """Layers of self-attention over [class, x_1, ..., x_S]; the query is the class vector's state.

    x_t is sqrt(D) times the embedding of word t with its position added, as in a Transformer. The
    class vector is learned and has no position: BERT's [CLS]. States are as wide as embeddings.

    The residual is that of every layer that has none of its own. Dropout is applied to the
    embeddings with their positions, and to what each sub-layer adds.

    Source: Vaswani et al. 2017, section 3.1, left half of Figure 1; Devlin et al. 2019, section 3.
    """

    num_layers: PositiveInt = 2
    layer: EncoderLayer = field(default_factory=EncoderLayer)
    position: Position = field(default_factory=Sinusoidal)
    residual: Residual = field(default_factory=PostNorm)

    @nn.nowrap
    def state_width(self, width: int) -> int:
        return width

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Text) -> Attentions:
        """Yield the self-attentions from below; the class vector is at START."""
        words = jnp.pad(source, ((0, 0), (1, 0)), constant_values=START)
        mask, read = pairs(words != PAD, words != PAD), (words, words)
        for number in range(self.num_layers):
            yield from layer_attentions(tree, mask, "read", f"layers_{number}", words=read)

    def setup(self) -> None:
        dropout = inherited(self, "dropout")
        shared = {"residual": self.residual, "dropout": dropout}
        self.layers = [inherit(self.layer, **shared) for _ in range(self.num_layers)]
        self.last_residual = clone_template(self.residual)
        self.position_encoding = clone_template(self.position)
        self.drop = Dropout(dropout)

    @nn.compact
    def read(self, x: Embedded, present: Present, *, deterministic: bool) -> EncodedText:
        width = x.shape[-1]
        first = self.param("class", nn.initializers.normal(1.0), (width,))
        first = jnp.broadcast_to(first.astype(x.dtype), (x.shape[0], 1, width))
        x = self.position_encoding(
            x * jnp.asarray(width**0.5, x.dtype), jnp.arange(x.shape[1])[None]
        )
        x = self.drop(jnp.concatenate([first, x], axis=1), deterministic=deterministic)
        # the class vector is never padding
        seen = jnp.pad(present, ((0, 0), (1, 0)), constant_values=True)
        valid = None if deterministic else seen & present.any(1, keepdims=True)
        for layer in self.layers:
            x = layer(x, Padding(seen), valid=valid, deterministic=deterministic)
        x = self.last_residual.final(x, valid)
        return EncodedText(states=x[:, 1:], query=x[:, :1])
