"""The accuracy on sets of each size, and what a softmax that becomes sharper adds to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnjax.attention.align.base import AdaptiveTemperature, Align
from attnjax.config.vary import vary
from attnjax.config.walk import walk
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure, Numbers
from attnjax.evaluation.measures.perplexity import LIKELIHOOD
from attnjax.models.base import Model, SymbolModel

SIZES = (16, 512, 1_024, 2_048)
"""Of the sets that are tested: those of Velickovic et al. 2024, Table 1, that are measured here."""


def check_sizes(measure: Measure, model: Model, corpus: Corpus) -> None:
    """Refuse a model without labels, and a test split without sets of one of the sizes."""
    if not isinstance(model, SymbolModel):
        raise UserError(
            f"{type(measure).__name__} wants a model that predicts labels; got "
            f"{type(model).__name__}"
        )
    found = {*corpus.splits[SPLIT].source.lengths.tolist()}
    if lacking := [size for size in SIZES if size not in found]:
        raise UserError(
            f"{type(measure).__name__} wants test sets of {', '.join(map(str, SIZES))} items; "
            f"there are none of {', '.join(map(str, lacking))}"
        )


def accuracies(inputs: EvalInputs) -> list[float]:
    """Return the share of right labels among the test sets of each size."""
    examples, shares = inputs.corpus.splits[SPLIT], []
    for size in SIZES:
        of_size = examples.select(np.flatnonzero(examples.source.lengths == size))
        batching = inputs.batching.with_room(of_size, shapes=1)
        ((right, count),) = inputs.sums(LIKELIHOOD, ("accuracy",), of_size, batching).sum(0)
        shares.append(float(right / count))
    return shares


@dataclass(frozen=True, kw_only=True)
class SetAccuracy(Measure):
    """The share of right labels among test sets of 16, 512, 1,024 and 2,048 items.

    "fall_to_1024" is the accuracy at 16 items minus that at 1,024, in points from -1 to 1.
    """

    shares: ClassVar[frozenset[str]] = frozenset(f"accuracy_at_{size}" for size in SIZES)
    numbers: ClassVar[Numbers] = {
        **{f"accuracy_at_{size}": "higher" for size in SIZES},
        **{f"fall_to_{size}": "lower" for size in SIZES[1:]},
    }

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        check_sizes(self, model, corpus)

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        first, *others = accuracies(inputs)
        return self.measured(first, *others, *(first - other for other in others))


@dataclass(frozen=True, kw_only=True)
class AdaptiveGain(Measure):
    """What an adaptive temperature, put into the trained network, adds to the accuracy.

    The same sets are labeled twice, with the network's own aligns and with `AdaptiveTemperature` in
    their place; the numbers are the differences, at each size of set. Nothing is trained again.

    Source: Velickovic et al. 2024, section 5 and Table 1.
    """

    numbers: ClassVar[Numbers] = {f"adaptive_gain_at_{size}": "higher" for size in SIZES}

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        check_sizes(self, model, corpus)
        if not any(isinstance(part, Align) for _, part in walk(model)):
            raise UserError(
                f"AdaptiveGain wants a model with an align; this {type(model).__name__} has none"
            )

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        sharper = inputs._replace(model=vary(inputs.model, {"**.align": AdaptiveTemperature()}))
        pairs = zip(accuracies(sharper), accuracies(inputs), strict=True)
        return self.measured(*(adaptive - own for adaptive, own in pairs))
