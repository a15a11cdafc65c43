"""Evaluation: scores of a model's answers, measures of its attention, and how sure they are."""

from attnjax.evaluation.bleu import Bleu as Bleu
from attnjax.evaluation.measurement import (
    Better as Better,
    Measurement as Measurement,
    MetricKey as MetricKey,
    Moment as Moment,
)
from attnjax.evaluation.measures import (
    AdversarialAttention as AdversarialAttention,
    Alignment as Alignment,
    ByLength as ByLength,
    EvalInputs as EvalInputs,
    Heads as Heads,
    Heatmaps as Heatmaps,
    LastLayerGradient as LastLayerGradient,
    LayerCost as LayerCost,
    MaskedWords as MaskedWords,
    Measure as Measure,
    Perplexity as Perplexity,
    Picture as Picture,
    Regions as Regions,
    RegressionError as RegressionError,
    Saturation as Saturation,
    Support as Support,
)
from attnjax.evaluation.metric import (
    Accuracy as Accuracy,
    ChrF as ChrF,
    ExactMatch as ExactMatch,
    Metric as Metric,
)
from attnjax.evaluation.sentence_stats import Sentences as Sentences
from attnjax.evaluation.statistics import Interval as Interval
from attnjax.evaluation.unknown_words import (
    CopyUnknown as CopyUnknown,
    Dictionary as Dictionary,
    Replacement as Replacement,
)
