"""How many updates it takes until nearly all is right, in training and on other examples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10, nan
from typing import Annotated, Any, ClassVar

from annotated_types import Gt, Le

from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import EvalInputs, Measure, Numbers


def updates_to(rows: Sequence[Mapping[str, Any]], least: float) -> float:
    """Return the first step whose row has an accuracy of at least `least`, else the last step.

    NaN: no row has an accuracy.
    """
    known = [row for row in rows if "accuracy" in row]
    reached = (row["step"] for row in known if row["accuracy"] >= least)
    return next(reached, known[-1]["step"] if known else nan)


@dataclass(frozen=True, kw_only=True)
class UpdatesTo(Measure):
    """The logarithm, to the base 10, of the updates until the accuracy is first at least `least`.

        log10_training_updates     by the rows of the training batches in the run's log, which are
                                   means since the row before
        log10_validation_updates   by the rows of the validation split, one an epoch

    Lower is better. A run that does not get there has the logarithm of all its updates: the number
    is censored there, and a difference to such a run is at least what it seems. The accuracy is
    that of the run's objective.

    Source: Power et al. 2022, Figure 1 and section 3.1 (steps to 99 % validation accuracy).
    """

    numbers: ClassVar[Numbers] = {
        "log10_training_updates": "lower",
        "log10_validation_updates": "lower",
    }

    least: Annotated[float, Gt(0), Le(1)] = 0.99

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        rows = inputs.log()
        of_split = ([row for row in rows if row["split"] == name] for name in ("train", "valid"))
        return self.measured(*(log10(updates_to(part, self.least)) for part in of_split))
