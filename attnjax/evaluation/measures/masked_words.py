"""The perplexity and accuracy of a masked language model on hidden words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnjax.data.corpus import Corpus
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure, Numbers
from attnjax.models.base import Model
from attnjax.training.objectives.masked_language_model import MaskedLanguageModel, Rate


@dataclass(frozen=True, kw_only=True)
class MaskedWords(Measure):
    """The perplexity of hidden words of the test split, and the share that is predicted right.

        perplexity = exp(mean over hidden words of -log p(word))

    Words are hidden as in validation, the same ones in every run, see `mask_words`.
    `rate` is the share of words that are hidden.
    """

    numbers: ClassVar[Numbers] = {"masked_perplexity": "lower", "masked_accuracy": "higher"}
    shares = frozenset({"masked_accuracy"})

    rate: Rate = 0.15

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        MaskedLanguageModel(rate=self.rate).check(model)

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        objective, examples = MaskedLanguageModel(rate=self.rate), inputs.corpus.splits[SPLIT]
        sums = inputs.sums(objective, ("nll", "accuracy"), examples, inputs.batching)
        totals, counts = sums.sum(0, dtype=np.float64).T
        nll, accuracy = totals / counts
        return self.measured(math.exp(nll), accuracy)
