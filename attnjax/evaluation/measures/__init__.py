"""Measures: what is computed of a run on the test split beside the metric of its answers."""

from attnjax.evaluation.measures.adversarial import (
    AdversarialAttention as AdversarialAttention,
)
from attnjax.evaluation.measures.alignment import Alignment as Alignment, Heatmaps as Heatmaps
from attnjax.evaluation.measures.base import (
    EvalInputs as EvalInputs,
    Measure as Measure,
    Picture as Picture,
)
from attnjax.evaluation.measures.by_length import ByLength as ByLength
from attnjax.evaluation.measures.heads import Heads as Heads
from attnjax.evaluation.measures.last_layer_gradient import (
    LastLayerGradient as LastLayerGradient,
)
from attnjax.evaluation.measures.layer_cost import LayerCost as LayerCost
from attnjax.evaluation.measures.masked_words import MaskedWords as MaskedWords
from attnjax.evaluation.measures.perplexity import Perplexity as Perplexity
from attnjax.evaluation.measures.regions import Regions as Regions
from attnjax.evaluation.measures.regression import RegressionError as RegressionError
from attnjax.evaluation.measures.saturation import Saturation as Saturation
from attnjax.evaluation.measures.support import Support as Support
