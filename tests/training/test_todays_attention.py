"""Today's attention on eight devices trains as on one."""

import numpy as np
import pytest

from attnjax.attention.align.around import TalkingHeads
from attnjax.attention.align.base import AdaptiveTemperature
from attnjax.attention.align.open import Sigmoid, Sink, Softpick
from attnjax.attention.attention import Attention
from attnjax.attention.heads.differential import DifferentialHeads
from attnjax.attention.heads.gate import OutputGate
from attnjax.attention.heads.latent import LatentAttention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.heads.selective import SelectiveHeads
from attnjax.attention.score.bias import Forgetting
from attnjax.attention.score.bucketed import Bucketed
from attnjax.attention.score.capped import SoftCap
from attnjax.attention.state.decay import WordDecay
from attnjax.attention.state.feature_map import TaylorFeatures
from attnjax.attention.state.recurrent import DeltaRule, SignedLinearAttention
from attnjax.models.feed_forward import FeedForward
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer, Interleaved
from attnjax.nn.norm import RMSNorm
from tests.training.test_sharding import WORDS, assert_close, collectives, run

SMALL = FeedForward(width=8)
CROSS = MultiHead(head=Attention(score=SoftCap(cap=2.0), align=Sink()), heads=2)
MODEL = Transformer(
    vocabulary=WORDS,
    width=8,
    num_encoder_layers=2,
    num_decoder_layers=2,
    encoder_layer=EncoderLayer(
        self_attention=LatentAttention(heads=2, latent_width=3, rotary_width=2), feed_forward=SMALL
    ),
    encoder_interleaved=Interleaved(
        layer=EncoderLayer(self_attention=DifferentialHeads(heads=2), feed_forward=SMALL), period=2
    ),
    decoder_layer=DecoderLayer(
        self_attention=MultiHead(
            head=DeltaRule(decay=WordDecay(), largest_strength=2.0),
            heads=2,
            context_norm=RMSNorm(),
            gate=OutputGate(),
        ),
        cross_attention=CROSS,
        feed_forward=SMALL,
        value_residual=0.5,
    ),
    decoder_interleaved=Interleaved(
        layer=DecoderLayer(
            self_attention=MultiHead(
                head=Attention(
                    score=Bucketed(buckets=8, most=8),
                    align=TalkingHeads(),
                    bias=Forgetting(),
                    dropout=0.1,
                ),
                heads=2,
            ),
            cross_attention=CROSS,
            feed_forward=SMALL,
            value_residual=0.5,
        ),
        period=2,
    ),
    dropout=0.3,
)


OTHERS = Transformer(
    vocabulary=WORDS,
    width=8,
    num_encoder_layers=1,
    num_decoder_layers=2,
    encoder_layer=EncoderLayer(
        self_attention=MultiHead(head=Attention(align=AdaptiveTemperature()), heads=2),
        feed_forward=SMALL,
    ),
    decoder_layer=DecoderLayer(
        self_attention=SelectiveHeads(heads=2),
        cross_attention=MultiHead(head=Attention(align=Sigmoid()), heads=2),
        feed_forward=SMALL,
    ),
    decoder_interleaved=Interleaved(
        layer=DecoderLayer(
            self_attention=MultiHead(
                head=SignedLinearAttention(feature_map=TaylorFeatures()), heads=2
            ),
            cross_attention=MultiHead(head=Attention(align=Softpick()), heads=2),
            feed_forward=SMALL,
        ),
        period=2,
    ),
    dropout=0.3,
)


@pytest.mark.long
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("model", [MODEL, OTHERS], ids=["states and gates", "selection"])
def test_a_model_of_many_variants_trains_on_devices_as_on_one(model):
    losses, params, _ = run(model, "mesh", 1, seeds=(3,), steps=20, dtype="float64")
    assert losses[-3:].mean() < losses[:3].mean()
    ours, after, program = run(model, "mesh", 8, seeds=(3,), steps=20, dtype="float64")
    np.testing.assert_allclose(ours, losses, rtol=0, atol=1e-9)
    assert_close(after, params, 1e-9)
    assert collectives(program) == ["all-reduce"]
