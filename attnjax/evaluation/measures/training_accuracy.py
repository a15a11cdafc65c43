"""The share of labels of the training split that are right: whether a network fits its data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from attnjax.data.corpus import Corpus
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import EvalInputs, Measure, Numbers
from attnjax.models.base import Model
from attnjax.models.labeler import check_labeler
from attnjax.training.objectives.label_entropy import LabelEntropy


@dataclass(frozen=True, kw_only=True)
class TrainingAccuracy(Measure):
    """The share of labels of the training split that the trained network gives right.

    Beside the `LabelAccuracy` of the test split it tells whether a network has not learnt, or has
    learnt its examples alone.
    """

    numbers: ClassVar[Numbers] = {"training_accuracy": "higher"}
    shares = frozenset(numbers)

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        check_labeler(model, "TrainingAccuracy")

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        examples = inputs.corpus.splits["train"]
        batching = inputs.batching.with_room(examples, shapes=1)
        sums = inputs.sums(LabelEntropy(), ("accuracy",), examples, batching)
        ((right, asked),) = sums.sum(0)
        return self.measured(right / asked)
