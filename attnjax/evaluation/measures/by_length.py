"""The score by source length: an encoder of one vector is said to get worse on long sources.

Bahdanau et al. 2015, Figure 2; Cho et al. 2014 (On the properties of neural machine translation).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge

from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure
from attnjax.evaluation.metric import Metric
from attnjax.models.base import Model

type Parts = Annotated[int, Ge(2)]


def by_length(lengths: Sequence[int] | np.ndarray, parts: int) -> list[np.ndarray]:
    """Return the indices of the sentences of each part, the shortest sources first.

    Equally long sentences keep the corpus' order. The parts are of equal size, or the first ones
    have one sentence more. The cuts depend on the corpus alone.
    """
    if not 2 <= parts <= len(lengths):
        raise UserError(
            "a score by length needs at least 2 parts, and a sentence in each; "
            f"got {parts} parts of {len(lengths)} sentences"
        )
    return np.array_split(np.argsort(np.asarray(lengths), kind="stable"), parts)


@dataclass(frozen=True, kw_only=True)
class ByLength(Measure):
    """The metric of the task on each of `parts` equal parts of the test split, by source length.

    Measurements have the key `MetricKey("bleu", part=(i, parts))`, see `by_length`.
    """

    parts: Parts = 4

    def keys(self, metric: Metric | None) -> Sequence[MetricKey]:
        if metric is None:
            return ()
        numbers = range(1, self.parts + 1)
        return [MetricKey(metric.name, part=(number, self.parts)) for number in numbers]

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        answers = len(corpus.references.get(SPLIT, ())) == len(corpus.splits[SPLIT])
        if corpus.vocabularies.source is None or not answers:
            raise UserError("a score by length needs sources that are text, and decoded answers")
        by_length(corpus.splits[SPLIT].source.lengths.tolist(), self.parts)

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        sentences = inputs.sentences
        if sentences is None or sentences.lengths is None:
            raise UserError("a score by length needs answers to text; nothing was decoded")
        keys, parts = self.keys(sentences.metric), by_length(sentences.lengths, self.parts)
        return [
            Measurement(key, sentences.at(indices).value(), better=sentences.metric.better)
            for key, indices in zip(keys, parts, strict=True)
        ]
