"""Aligns: from logits and a mask to attention weights; aligns around an align."""

from attnjax.attention.align.around import (
    HardAlibi as HardAlibi,
    TalkingHeads as TalkingHeads,
)
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
    predicted_center as predicted_center,
)
from attnjax.attention.align.one_hot import (
    Hard as Hard,
    HardMax as HardMax,
    StraightThrough as StraightThrough,
    gumbel as gumbel,
    hard as hard,
    log_softmax as log_softmax,
    straight_through as straight_through,
)
from attnjax.attention.align.open import (
    OffByOne as OffByOne,
    OpenAlign as OpenAlign,
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
