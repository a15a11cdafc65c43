"""A Transformer small enough to compile in a second, with every part to choose."""

from typing import Any

import jax
import numpy as np

from attnjax.attention.align.base import Align, Softmax
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.position import Position, Sinusoidal
from attnjax.attention.score.base import ScaledDot, Score
from attnjax.models.feed_forward import FeedForward
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer, PostNorm, Residual

VOCABULARY, WIDTH, HEADS, HIDDEN = 12, 8, 2, 5

# Ragged: the second sentence ends in two PAD, the second target in one.
SOURCE = np.array([[4, 5, 6, 7], [8, 9, 0, 0]], np.int32)
GIVEN = np.array([[1, 10, 4, 11, 5], [1, 9, 8, 9, 0]], np.int32)


def small(
    score: Score | None = None,
    position: Position | None = None,
    residual: Residual | None = None,
    *,
    align: Align | None = None,
    layers: int = 2,
    dropout: float = 0.0,
) -> Transformer:
    """`layers` encoder and as many decoder layers; dropout everywhere it can be."""
    attention = MultiHead(
        head=Attention(score=score or ScaledDot(), align=align or Softmax(), dropout=dropout),
        heads=HEADS,
    )
    feed_forward = FeedForward(width=HIDDEN, dropout=dropout)
    return Transformer(
        vocabulary=VOCABULARY,
        width=WIDTH,
        num_encoder_layers=layers,
        num_decoder_layers=layers,
        # One template in three places, as a reader would write it.
        encoder_layer=EncoderLayer(self_attention=attention, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=attention, cross_attention=attention, feed_forward=feed_forward
        ),
        position=position or Sinusoidal(),
        residual=residual or PostNorm(),
        dropout=dropout,
    )


def initial(model: Transformer) -> Any:
    """Random parameters, also where training begins with 0 or 1; NumPy's, so nothing compiles."""
    shapes = jax.eval_shape(
        lambda: model.init(
            jax.random.key(0), SOURCE, GIVEN, deterministic=True, mutable=["params"]
        )["params"]
    )
    draw, dtype = np.random.default_rng(0).normal, jax.dtypes.canonicalize_dtype(float)
    drawn = jax.tree.map_with_path(
        lambda path, leaf: draw("scale" in str(path[-1]), 0.3, leaf.shape).astype(dtype), shapes
    )
    return jax.device_put(drawn)  # `jnp.asarray` would compile a program for each shape
