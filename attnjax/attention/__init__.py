"""Attention: scores, aligns, pools, masks, positions, heads.

    logits  = score(query, key, positions)     [..., T, S]
    weights = align(logits, mask)              [..., T, S]
    context = pool(weights, value)             [..., T, V]

Scores, aligns, pools and attentions are Linen modules over pure functions.
`attnjax.attention.fused` has softmax attention without the weights.
"""

from attnjax.attention.align import (
    Align,
    AlignContext,
    LearnedScale,
    Normalize,
    Softmax,
    Uniform,
    normalize,
    softmax,
    uniform,
)
from attnjax.attention.attention import Attention, AttentionBase, Memory, Mixer
from attnjax.attention.feature_map import EluPlusOne, FeatureMap, PositiveRandomFeatures
from attnjax.attention.hard_align import Hard, HardMax, StraightThrough, hard, straight_through
from attnjax.attention.kernel_score import (
    Boxcar,
    Epanechnikov,
    Gaussian,
    Kernel,
    LearnedGaussian,
    SquaredExponential,
    Triangular,
)
from attnjax.attention.last_state import LastState
from attnjax.attention.linear import LinearAttention
from attnjax.attention.local_align import (
    LocalMonotonic,
    LocalPredictive,
    local_monotonic,
    local_predictive,
)
from attnjax.attention.mask import (
    And,
    Causal,
    DenseMask,
    ExcludeSelf,
    Mask,
    Padding,
    Segments,
    Window,
)
from attnjax.attention.multihead import MultiHead
from attnjax.attention.pool import Pool, RelativeSum, WeightedSum, relative_sum, weighted_sum
from attnjax.attention.position import (
    Learned,
    NoPosition,
    Position,
    Positions,
    Sinusoidal,
    distance,
    sinusoidal,
)
from attnjax.attention.position_score import (
    Alibi,
    PositionScore,
    Relative,
    Rotary,
    alibi,
    alibi_slopes,
    relative,
    rotary,
)
from attnjax.attention.score import (
    Additive,
    Dot,
    DotProduct,
    General,
    Location,
    ScaledDot,
    Score,
    additive,
    dot,
    general,
    location,
    scaled_dot,
)
from attnjax.attention.self_attentive import SelfAttentive, redundancy
from attnjax.attention.sparse_align import Entmax15, Sparsemax, TopK, entmax15, sparsemax, top_k

__all__ = [
    "Additive",
    "Alibi",
    "Align",
    "AlignContext",
    "And",
    "Attention",
    "AttentionBase",
    "Boxcar",
    "Causal",
    "DenseMask",
    "Dot",
    "DotProduct",
    "EluPlusOne",
    "Entmax15",
    "Epanechnikov",
    "ExcludeSelf",
    "FeatureMap",
    "Gaussian",
    "General",
    "Hard",
    "HardMax",
    "Kernel",
    "LastState",
    "Learned",
    "LearnedGaussian",
    "LearnedScale",
    "LinearAttention",
    "LocalMonotonic",
    "LocalPredictive",
    "Location",
    "Mask",
    "Memory",
    "Mixer",
    "MultiHead",
    "NoPosition",
    "Normalize",
    "Padding",
    "Pool",
    "Position",
    "PositionScore",
    "Positions",
    "PositiveRandomFeatures",
    "Relative",
    "RelativeSum",
    "Rotary",
    "ScaledDot",
    "Score",
    "Segments",
    "SelfAttentive",
    "Sinusoidal",
    "Softmax",
    "Sparsemax",
    "SquaredExponential",
    "StraightThrough",
    "TopK",
    "Triangular",
    "Uniform",
    "WeightedSum",
    "Window",
    "additive",
    "alibi",
    "alibi_slopes",
    "distance",
    "dot",
    "entmax15",
    "general",
    "hard",
    "local_monotonic",
    "local_predictive",
    "location",
    "normalize",
    "redundancy",
    "relative",
    "relative_sum",
    "rotary",
    "scaled_dot",
    "sinusoidal",
    "softmax",
    "sparsemax",
    "straight_through",
    "top_k",
    "uniform",
    "weighted_sum",
]
