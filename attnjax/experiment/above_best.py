"""How far one variant is above the best of others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnjax.experiment.estimands import Difference, Estimand, Results, Spread


@dataclass(frozen=True)
class AboveBest(Estimand):
    """The metric of a variant minus that of the best of the others, seed by seed.

    The best has the highest mean over the seeds that it shares with the variant; others without
    runs are passed over. Chosen by its results, its mean is above what new seeds would give: if
    anything the estimate is too low for the variant. The interval is that of `Difference`.
    """

    variant: str
    others: tuple[str, ...]

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.variant, *self.others)

    def difference(self, results: Results) -> Difference | None:
        """Return the difference to the best of the others; None: none of them was measured."""
        every = [Difference(self.metric, self.variant, other) for other in self.others]
        means = {
            one: np.mean([worse for _, worse in measured.values()])
            for one in every
            if (measured := one.measured(results))
        }
        return max(means, key=lambda one: means[one], default=None)

    def values(self, results: Results) -> dict[int, float]:
        to_best = self.difference(results)
        return {} if to_best is None else to_best.values(results)

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        to_best = self.difference(results)
        if to_best is None:
            return super().spread_of(values, results)
        return to_best.spread_of(values, results)
