"""Evaluation: scores of a model's answers, measures of its attention, and how sure they are."""

from attnjax.evaluation.bleu import Bleu as Bleu
from attnjax.evaluation.measurement import (
    Better as Better,
    Measurement as Measurement,
    MetricKey as MetricKey,
    Moment as Moment,
)
from attnjax.evaluation.measures.adversarial import AdversarialAttention as AdversarialAttention
from attnjax.evaluation.measures.alignment import Alignment as Alignment, Heatmaps as Heatmaps
from attnjax.evaluation.measures.base import (
    EvalInputs as EvalInputs,
    Measure as Measure,
    Picture as Picture,
)
from attnjax.evaluation.measures.by_length import ByLength as ByLength
from attnjax.evaluation.measures.gradient_step import OneGradientStep as OneGradientStep
from attnjax.evaluation.measures.heads import Heads as Heads
from attnjax.evaluation.measures.labels import LabelAccuracy as LabelAccuracy
from attnjax.evaluation.measures.last_layer_gradient import LastLayerGradient as LastLayerGradient
from attnjax.evaluation.measures.layer_cost import LayerCost as LayerCost
from attnjax.evaluation.measures.longer_windows import LongerWindows as LongerWindows
from attnjax.evaluation.measures.masked_words import MaskedWords as MaskedWords
from attnjax.evaluation.measures.perplexity import Perplexity as Perplexity
from attnjax.evaluation.measures.regions import Regions as Regions
from attnjax.evaluation.measures.regression import RegressionError as RegressionError
from attnjax.evaluation.measures.saturation import Saturation as Saturation
from attnjax.evaluation.measures.set_accuracy import (
    AdaptiveGain as AdaptiveGain,
    SetAccuracy as SetAccuracy,
)
from attnjax.evaluation.measures.sinks import Sinks as Sinks
from attnjax.evaluation.measures.state_size import StateSize as StateSize
from attnjax.evaluation.measures.support import Support as Support
from attnjax.evaluation.measures.training_accuracy import TrainingAccuracy as TrainingAccuracy
from attnjax.evaluation.measures.updates_to import UpdatesTo as UpdatesTo
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
