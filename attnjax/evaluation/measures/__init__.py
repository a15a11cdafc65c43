"""Measures: what is computed of a run on the test split beside the metric of its answers."""

from attnjax.evaluation.measures.alignment import Alignment, Heatmaps
from attnjax.evaluation.measures.base import EvalInputs, Measure, Picture
from attnjax.evaluation.measures.by_length import ByLength
from attnjax.evaluation.measures.layer_cost import LayerCost
from attnjax.evaluation.measures.masked_words import MaskedWords
from attnjax.evaluation.measures.perplexity import Perplexity
from attnjax.evaluation.measures.regions import Regions
from attnjax.evaluation.measures.regression import RegressionError
from attnjax.evaluation.measures.saturation import Saturation

__all__ = [
    "Alignment",
    "ByLength",
    "EvalInputs",
    "Heatmaps",
    "LayerCost",
    "MaskedWords",
    "Measure",
    "Perplexity",
    "Picture",
    "Regions",
    "RegressionError",
    "Saturation",
]
