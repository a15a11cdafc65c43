"""Language models whose layers are of two kinds, today's attentions among them."""

from attnjax.attention.align.around import HardAlibi, TalkingHeads
from attnjax.attention.align.open import StickBreaking
from attnjax.attention.attention import Attention
from attnjax.attention.heads.differential import DifferentialHeads
from attnjax.attention.heads.gate import OutputGate
from attnjax.attention.heads.latent import LatentAttention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.heads.selective import SelectiveHeads
from attnjax.attention.mask import Window
from attnjax.attention.position import NoPosition
from attnjax.attention.score.bias import Forgetting
from attnjax.attention.score.bucketed import Bucketed
from attnjax.attention.score.capped import SoftCap
from attnjax.attention.score.positional import Rotary
from attnjax.attention.score.rotary_scaling import Yarn
from attnjax.attention.state.decay import FeatureDecay, HeadDecay, SigmoidDecay, WordDecay
from attnjax.attention.state.recurrent import DecayedState, DeltaRule, SignedLinearAttention
from attnjax.models.feed_forward import FeedForward
from attnjax.models.language_model import LanguageModel
from attnjax.models.transformer_layers import DecoderLayer, Interleaved
from attnjax.nn.norm import RMSNorm
from tests.models.small import HEADS


def layer(head, cross_attention=None) -> DecoderLayer:
    return DecoderLayer(
        self_attention=MultiHead(head=head, heads=HEADS),
        cross_attention=cross_attention,
        feed_forward=FeedForward(width=5),
    )


def other_heads(attention) -> DecoderLayer:
    return DecoderLayer(
        self_attention=attention, cross_attention=None, feed_forward=FeedForward(width=5)
    )


WINDOW = layer(Attention(score=Rotary(), mask=Window(2, 0)))
SOFTMAX, DELTA = layer(Attention()), layer(DeltaRule())


def language_model(**options) -> LanguageModel:
    return LanguageModel(
        vocabulary=12, width=8, num_layers=3, position=NoPosition(), dropout=0.0, **options
    )


PAIRS = {
    "delta rule and softmax": (DELTA, SOFTMAX),
    "windows with rotary, all without": (WINDOW, SOFTMAX),
    "gated delta rule and forgetting": (
        layer(DeltaRule(decay=WordDecay(), largest_strength=2.0)),
        layer(Attention(bias=Forgetting())),
    ),
    "retention and latent": (
        layer(DecayedState(decay=HeadDecay())),
        other_heads(LatentAttention(heads=HEADS, latent_width=3, rotary_width=2)),
    ),
    "gated linear and differential": (
        layer(DecayedState(decay=SigmoidDecay(rank=2))),
        other_heads(DifferentialHeads(heads=HEADS)),
    ),
    "Mamba-2 and talking heads": (
        layer(DecayedState(decay=WordDecay(discretized=True))),
        layer(Attention(align=TalkingHeads())),
    ),
    "a decay a feature and a gate": (
        layer(DeltaRule(decay=FeatureDecay())),
        other_heads(MultiHead(heads=HEADS, gate=OutputGate(), context_norm=RMSNorm())),
    ),
    "buckets and a cap of YaRN": (
        layer(Attention(score=Bucketed(buckets=8, most=16))),
        layer(Attention(score=SoftCap(score=Rotary(scaling=Yarn(trained_length=8)), cap=2.0))),
    ),
    "selective heads and Taylor features": (
        other_heads(SelectiveHeads(heads=HEADS)),
        layer(SignedLinearAttention()),
    ),
    "values of the first layer": (
        layer(Attention()).clone(value_residual=0.5),
        layer(DeltaRule()).clone(value_residual=0.5),
    ),
    "stick breaking and near words": (
        layer(Attention(align=StickBreaking())),
        layer(Attention(align=HardAlibi(unbounded=1))),
    ),
}


def mixed(name: str) -> LanguageModel:
    """Three layers, the middle one of the second kind."""
    own, other = PAIRS[name]
    return language_model(layer=own, interleaved=Interleaved(layer=other, period=2))
