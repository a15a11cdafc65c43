"""Every score and every align goes into every model by one override."""

import functools

import jax
import jax.numpy as jnp
import pytest

from attnjax.attention.align.base import Align
from attnjax.attention.score.base import Score
from attnjax.config.override import override, split
from attnjax.config.parts import parts
from attnjax.models.feed_forward import FeedForward
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer

WORDS = 7
RECURRENT = Seq2Seq(width=4, encoder=Encoder(width=4), decoder=LuongDecoder(width=8))
TRANSFORMER = Transformer(
    width=16,  # 2 for each of 8 heads: rotary positions turn pairs
    num_encoder_layers=1,
    num_decoder_layers=1,
    encoder_layer=EncoderLayer(feed_forward=FeedForward(width=4)),
    decoder_layer=DecoderLayer(feed_forward=FeedForward(width=4)),
)
CHOICES = [
    f"{field}:{name}"
    for field, base in (("score", Score), ("align", Align))
    for name, kind in sorted(parts(base).items())
    if kind is not None and kind.__module__.startswith("attnjax.")  # not another test's own
]


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(
    ("model", "attention"),
    [
        (RECURRENT, "decoder.attention"),
        pytest.param(*(TRANSFORMER, "decoder_layer.cross_attention.head"), marks=pytest.mark.long),
    ],
    ids=["recurrent", "transformer"],
)
def test_by_one_override(model, attention, choice):
    # what normalizes wants a kernel beside it
    kernel = [f"{attention}.score:squared-exponential"] if choice == "align:normalize" else []
    rest, overrides = split([f"{attention}.{choice}", *kernel])
    assert not rest
    swapped = override(model, overrides).with_vocabularies(WORDS, WORDS)
    ids = jnp.ones((2, 3), jnp.int32)
    start = functools.partial(swapped.init, deterministic=True, mutable=["params"])
    params = jax.eval_shape(start, jax.random.key(0), ids, ids)
    call = functools.partial(swapped.apply, deterministic=True)
    assert jax.eval_shape(call, params, ids, ids).shape == (2, 3, WORDS)
