"""How compact an attention is: the number of places that have any weight."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnjax.data.corpus import Corpus
from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.evaluation.measures.alignment import attention_of, check_shown
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure
from attnjax.evaluation.metric import Metric
from attnjax.models.base import Model


@dataclass(frozen=True, kw_only=True)
class Support(Measure):
    """The mean number of source places with a weight above 0, of a target word: "support".

    The weights are those of the model's `alignment` while the decoder is given the references.
    Softmax gives all places of a source some weight, sparsemax and entmax a few.

    Source: Martins and Astudillo 2016, section 2.1 (the support of sparsemax).
    """

    def keys(self, metric: Metric | None) -> Sequence[MetricKey]:
        del metric
        return (MetricKey("support"),)

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        check_shown(model, corpus.splits[SPLIT][0])

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        examples = inputs.corpus.splits[SPLIT]
        rows = [(weights > 0).sum(1) for _, weights in attention_of(inputs, examples)]
        return [Measurement(MetricKey("support"), float(np.concatenate(rows).mean()))]
