"""Ten models compute today what they did when their records were made."""

import jax
import numpy as np
import pytest

from attnjax.attention.align.sparse import Sparsemax
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Window
from attnjax.attention.position import NoPosition
from attnjax.attention.score.base import Additive, General
from attnjax.attention.score.positional import Alibi, Relative, Rotary
from attnjax.attention.state.linear import LinearAttention
from attnjax.models.feed_forward import FeedForward
from attnjax.models.language_model import LanguageModel
from attnjax.models.rnn_cells import GRUResetBefore
from attnjax.models.rnn_decoders import BahdanauDecoder, LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer_layers import DecoderLayer, PreNorm
from tests.models.small import GIVEN, HEADS, HIDDEN, SOURCE, VOCABULARY, WIDTH, initial, small


def language_model(attention: MultiHead) -> LanguageModel:
    layer = DecoderLayer(
        self_attention=attention, cross_attention=None, feed_forward=FeedForward(width=HIDDEN)
    )
    return LanguageModel(
        vocabulary=VOCABULARY,
        width=WIDTH,
        num_layers=1,
        layer=layer,
        position=NoPosition(),
        dropout=0.0,
    )


def recurrent(decoder: LuongDecoder | BahdanauDecoder, **encoder) -> Seq2Seq:
    return Seq2Seq(
        source_vocabulary=VOCABULARY,
        vocabulary=VOCABULARY,
        width=5,
        encoder=Encoder(width=WIDTH // 2, **encoder),
        decoder=decoder,
        dropout=0.0,
    )


MODELS = {
    "Transformer": (small(layers=1), 2.2239256988480065),
    "rotary, pre-norm": (small(Rotary(), NoPosition(), PreNorm(), layers=1), 2.459944701771928),
    "ALiBi": (small(Alibi(), NoPosition(), layers=1), -2.1549521019298585),
    "relative": (small(Relative(max_distance=2), NoPosition(), layers=1), 8.78621915405346),
    "additive": (small(Additive(), layers=1), 5.583548634833108),
    "sparsemax": (small(align=Sparsemax(), layers=1), 4.06269597850383),
    "shared keys": (
        language_model(MultiHead(head=Attention(mask=Window(2, 0)), heads=HEADS, key_heads=1)),
        0.17231811706323463,
    ),
    "linear": (language_model(MultiHead(head=LinearAttention(), heads=HEADS)), -10.61107776152419),
    "Luong": (
        recurrent(LuongDecoder(width=WIDTH, attention=Attention(score=General()))),
        0.29781734431766055,
    ),
    "Bahdanau": (recurrent(BahdanauDecoder(width=6), cell=GRUResetBefore()), 0.9043027075113232),
}
"""Each model, and the sum of its logits of two sentences in the directions that are drawn."""


@pytest.mark.parametrize("name", MODELS)
def test_a_model_computes_what_it_did(name, float64):
    model, kept = MODELS[name]
    logits = jax.jit(model.apply, static_argnames="deterministic")(
        {"params": initial(model)}, SOURCE, GIVEN, deterministic=True
    )
    direction = np.random.default_rng(1).normal(size=logits.shape)
    np.testing.assert_allclose((logits * direction).sum(), kept, rtol=1e-11)
