"""The error of a regression against the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure, Numbers
from attnjax.models.base import Model, SymbolModel
from attnjax.training.objectives.squared_error import SquaredError


@dataclass(frozen=True, kw_only=True)
class RegressionError(Measure):
    """The mean of (prediction - truth)^2 over the test split: "squared_error", in y's unit squared.

    Lower is better. Only the examples of the run's own seed count, see `Batching.examples_of_seed`.
    """

    numbers: ClassVar[Numbers] = {"squared_error": "lower"}

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        if isinstance(model, SymbolModel):
            raise UserError(
                f"RegressionError wants a model that predicts numbers; got {type(model).__name__}"
            )

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        examples = inputs.batching.examples_of_seed(inputs.corpus.splits[SPLIT], inputs.seed)
        batching = inputs.batching.with_room(examples, shapes=1)
        sums = inputs.sums(SquaredError(), ("loss",), examples, batching)
        ((total, count),) = sums.sum(0)
        return self.measured(total / count)
