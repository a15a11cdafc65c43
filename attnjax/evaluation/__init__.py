"""Evaluation: scores of a model's answers, measures of its attention, and how sure they are."""

from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.measurement import Better, Measurement, MetricKey, Moment
from attnjax.evaluation.measures import (
    Alignment,
    ByLength,
    EvalInputs,
    Heatmaps,
    LayerCost,
    MaskedWords,
    Measure,
    Perplexity,
    Picture,
    Regions,
    RegressionError,
    Saturation,
)
from attnjax.evaluation.metric import Accuracy, ChrF, ExactMatch, Metric
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.evaluation.statistics import Interval
from attnjax.evaluation.unknown_words import CopyUnknown, Dictionary, Replacement

__all__ = [
    "Accuracy",
    "Alignment",
    "Better",
    "Bleu",
    "ByLength",
    "ChrF",
    "CopyUnknown",
    "Dictionary",
    "EvalInputs",
    "ExactMatch",
    "Heatmaps",
    "Interval",
    "LayerCost",
    "MaskedWords",
    "Measure",
    "Measurement",
    "Metric",
    "MetricKey",
    "Moment",
    "Perplexity",
    "Picture",
    "Regions",
    "RegressionError",
    "Replacement",
    "Saturation",
    "Sentences",
]
