"""Attention: scores, aligns, pools, masks, positions, heads.

    logits  = score(query, key, positions)     [..., T, S]
    weights = align(logits, mask)              [..., T, S]
    context = pool(weights, value)             [..., T, V]

Scores, aligns, pools and attentions are Linen modules over pure functions.
`attnjax.attention.fused` has softmax attention without the weights.
"""

from attnjax.attention.align.around import HardAlibi as HardAlibi, TalkingHeads as TalkingHeads
from attnjax.attention.align.base import (
    AdaptiveTemperature as AdaptiveTemperature,
    Align as Align,
    AlignContext as AlignContext,
    LearnedScale as LearnedScale,
    Normalize as Normalize,
    Softmax as Softmax,
    Uniform as Uniform,
    adaptive_softmax as adaptive_softmax,
    normalize as normalize,
    softmax as softmax,
    uniform as uniform,
)
from attnjax.attention.align.local import (
    LocalMonotonic as LocalMonotonic,
    LocalPredictive as LocalPredictive,
    local_monotonic as local_monotonic,
    local_predictive as local_predictive,
)
from attnjax.attention.align.one_hot import (
    Hard as Hard,
    HardMax as HardMax,
    StraightThrough as StraightThrough,
    hard as hard,
    straight_through as straight_through,
)
from attnjax.attention.align.open import (
    OffByOne as OffByOne,
    ReLU as ReLU,
    Sigmoid as Sigmoid,
    Sink as Sink,
    Softpick as Softpick,
    StickBreaking as StickBreaking,
    rectified as rectified,
    sigmoid as sigmoid,
    softmax_with_sink as softmax_with_sink,
    softpick as softpick,
    stick_breaking as stick_breaking,
)
from attnjax.attention.align.sparse import (
    Entmax15 as Entmax15,
    Sparsemax as Sparsemax,
    TopK as TopK,
    entmax15 as entmax15,
    sparsemax as sparsemax,
    top_k as top_k,
)
from attnjax.attention.attention import (
    Attention as Attention,
    AttentionBase as AttentionBase,
    Memory as Memory,
    Mixer as Mixer,
)
from attnjax.attention.heads.differential import DifferentialHeads as DifferentialHeads
from attnjax.attention.heads.gate import Gate as Gate, OutputGate as OutputGate
from attnjax.attention.heads.last_state import LastState as LastState
from attnjax.attention.heads.latent import LatentAttention as LatentAttention
from attnjax.attention.heads.multihead import MultiHead as MultiHead
from attnjax.attention.heads.selective import SelectiveHeads as SelectiveHeads
from attnjax.attention.heads.self_attentive import (
    SelfAttentive as SelfAttentive,
    redundancy as redundancy,
)
from attnjax.attention.mask import (
    And as And,
    Causal as Causal,
    DenseMask as DenseMask,
    ExcludeSelf as ExcludeSelf,
    Mask as Mask,
    Or as Or,
    Padding as Padding,
    Prefix as Prefix,
    Segments as Segments,
    Window as Window,
)
from attnjax.attention.pool import (
    Pool as Pool,
    RelativeSum as RelativeSum,
    WeightedSum as WeightedSum,
    relative_sum as relative_sum,
    weighted_sum as weighted_sum,
)
from attnjax.attention.position import (
    Learned as Learned,
    NoPosition as NoPosition,
    Position as Position,
    Positions as Positions,
    Sinusoidal as Sinusoidal,
    distance as distance,
    sinusoidal as sinusoidal,
)
from attnjax.attention.score.base import (
    Additive as Additive,
    Dot as Dot,
    DotProduct as DotProduct,
    General as General,
    Location as Location,
    Salience as Salience,
    ScaledDot as ScaledDot,
    Score as Score,
    WidthScaledDot as WidthScaledDot,
    additive as additive,
    dot as dot,
    general as general,
    location as location,
    salience as salience,
    scaled_dot as scaled_dot,
    soft_cap as soft_cap,
)
from attnjax.attention.score.bias import (
    Bias as Bias,
    Forgetting as Forgetting,
    forgetting as forgetting,
)
from attnjax.attention.score.bucketed import (
    Bucketed as Bucketed,
    distance_bucket as distance_bucket,
)
from attnjax.attention.score.capped import SoftCap as SoftCap
from attnjax.attention.score.kernel import (
    Boxcar as Boxcar,
    Epanechnikov as Epanechnikov,
    Gaussian as Gaussian,
    Kernel as Kernel,
    LearnedGaussian as LearnedGaussian,
    SquaredExponential as SquaredExponential,
    Triangular as Triangular,
)
from attnjax.attention.score.positional import (
    Alibi as Alibi,
    PositionScore as PositionScore,
    Relative as Relative,
    Rotary as Rotary,
    alibi as alibi,
    alibi_slopes as alibi_slopes,
    relative as relative,
    rotary as rotary,
)
from attnjax.attention.score.rotary_scaling import (
    Interpolated as Interpolated,
    LargerBase as LargerBase,
    RotaryScaling as RotaryScaling,
    Yarn as Yarn,
)
from attnjax.attention.state.decay import (
    Decay as Decay,
    FeatureDecay as FeatureDecay,
    HeadDecay as HeadDecay,
    NoDecay as NoDecay,
    SigmoidDecay as SigmoidDecay,
    WordDecay as WordDecay,
)
from attnjax.attention.state.feature_map import (
    EluPlusOne as EluPlusOne,
    FeatureMap as FeatureMap,
    PositiveRandomFeatures as PositiveRandomFeatures,
    SignedFeatureMap as SignedFeatureMap,
    TaylorFeatures as TaylorFeatures,
)
from attnjax.attention.state.linear import LinearAttention as LinearAttention
from attnjax.attention.state.recurrent import (
    DecayedState as DecayedState,
    DeltaRule as DeltaRule,
    FastWeights as FastWeights,
    RecurrentAttention as RecurrentAttention,
    SignedLinearAttention as SignedLinearAttention,
)
