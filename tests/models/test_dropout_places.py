"""Where each model drops, and how much: every place by its path, as a training step meets it."""

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
from flax import linen as nn

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.models.captioner import Captioner, Convolutions
from attnjax.models.classifier import Classifier
from attnjax.models.feed_forward import FeedForward
from attnjax.models.rnn_decoders import BahdanauDecoder, LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer
from attnjax.nn.dropout import Dropout

SOURCE, GIVEN = np.array([[4, 5, 6]]), np.array([[7, 8]])
IMAGE = np.zeros((1, 4, 4, 3))
HEADS = MultiHead(head=Attention(dropout=0.1), heads=2)
INSIDE = FeedForward(width=4, dropout=0.2)
MODELS = {
    "transformer": Transformer(
        width=4,
        num_encoder_layers=1,
        num_decoder_layers=1,
        encoder_layer=EncoderLayer(self_attention=HEADS, feed_forward=INSIDE),
        decoder_layer=DecoderLayer(
            self_attention=HEADS, cross_attention=HEADS, feed_forward=INSIDE, dropout=0.4
        ),
        dropout=0.3,
    ),
    "luong": Seq2Seq(
        width=4,
        encoder=Encoder(width=2, layers=2, dropout=0.5),
        decoder=LuongDecoder(width=4, layers=2, attention=Attention(dropout=0.1)),
        dropout=0.3,
    ),
    "bahdanau": Seq2Seq(
        width=4, encoder=Encoder(width=4), decoder=BahdanauDecoder(width=4, maxout=3), dropout=0.3
    ),
    "classifier": Classifier(
        width=4, encoder=Encoder(width=2, layers=2, dropout=0.5), attention=HEADS, dropout=0.3
    ),
    "captioner": Captioner(width=4, embedding=3, encoder=Convolutions(((3,),)), dropout=0.3),
}


def places(model: Any, source: Any, given: Any) -> list[str]:
    """Path, rate and shape of all dropout that is not switched off, as it falls."""
    found: list[str] = []

    def note(call: Any, arguments: Any, options: Any, context: Any) -> Any:
        module = context.module
        if isinstance(module, Dropout) and not options["deterministic"] and module.rate:
            found.append(f"{'/'.join(module.path)} {module.rate} {list(arguments[0].shape)}")
        return call(*arguments, **options)

    streams = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
    start = partial(model.init, deterministic=True, mutable=["params"])
    params = jax.eval_shape(start, streams, source, given)["params"]
    run = partial(model.apply, deterministic=False, rngs=streams)
    with nn.intercept_methods(note):
        jax.eval_shape(lambda params: run({"params": params}, source, given), params)
    return found


EXPECTED = {
    "transformer": """
        drop 0.3 [1, 3, 4]
        encoder_layers_0/self_attention/head/drop 0.1 [1, 3, 3]
        encoder_layers_0/drop 0.3 [1, 3, 4]
        encoder_layers_0/feed_forward/drop 0.2 [1, 3, 4]
        encoder_layers_0/drop 0.3 [1, 3, 4]
        drop 0.3 [1, 2, 4]
        decoder_layers_0/self_attention/head/drop 0.1 [1, 2, 2]
        decoder_layers_0/drop 0.4 [1, 2, 4]
        decoder_layers_0/cross_attention/head/drop 0.1 [1, 2, 3]
        decoder_layers_0/drop 0.4 [1, 2, 4]
        decoder_layers_0/feed_forward/drop 0.2 [1, 2, 4]
        decoder_layers_0/drop 0.4 [1, 2, 4]""",
    "luong": """
        drop 0.3 [1, 3, 4]
        reader/drop 0.5 [1, 3, 4]
        drop 0.3 [1, 2, 4]
        writer/drop 0.3 [1, 4]
        writer/attention/drop 0.1 [1, 1, 3]
        writer/drop 0.3 [1, 2, 4]""",
    "bahdanau": """
        drop 0.3 [1, 3, 4]
        drop 0.3 [1, 2, 4]
        writer/drop 0.3 [1, 2, 3]""",
    "classifier": """
        drop 0.3 [1, 3, 4]
        read/drop 0.5 [1, 3, 4]
        attention/head/drop 0.1 [1, 1, 3]
        drop 0.3 [1, 1, 4]""",
    "captioner": """
        drop 0.3 [1, 2, 3]""",
}


@pytest.mark.parametrize("name", MODELS)
def test_dropout_falls_here_and_nowhere_else(name):
    source = IMAGE if name == "captioner" else SOURCE
    given = GIVEN[:, :1] if name == "classifier" else GIVEN
    found = places(
        MODELS[name].with_vocabularies(None if name == "captioner" else 9, 9), source, given
    )
    if name == "luong":
        found = [*dict.fromkeys(found)]  # a loop over time may be traced more than once
    assert found == EXPECTED[name].strip().replace("\n        ", "\n").split("\n")
