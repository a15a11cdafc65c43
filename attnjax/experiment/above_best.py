"""How far one variant is above the best of others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnjax.experiment.best_of import best, less_is_better
from attnjax.experiment.estimands import Difference, Estimand, Results, Spread


@dataclass(frozen=True)
class AboveBest(Estimand):
    """The metric of a variant minus that of the best of the others, seed by seed.

    The best has the highest mean, or the lowest of what less is better of, over the seeds that all
    have; a mean that is not finite is below all others. While one of the others has no runs, there
    is no best. Chosen by its results, its mean is better than what new seeds would give: if
    anything the estimate is too hard on the variant. The interval is that of `Difference`.
    """

    variant: str
    others: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"difference of {self.key}"

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.variant, *self.others)

    def deciding(self, results: Results) -> tuple[str, ...]:
        """Return the variant, and the best of the others that are there; or one that lacks seeds.

        Proof. Let all rows have all planned seeds. The best of the others is the best of the best
        of some and the best of the rest, so nothing else of some is needed. A row that lacks a seed
        leaves the number waiting, whatever else is there; and as one that has them all is in its
        place only where none lacks any, a row decides the same wherever it is the one returned.
        """
        columns = {name: self.column(name, results) for name in self.others if name in results}
        own = tuple(name for name in (self.variant,) if name in results)
        if not columns:
            return own
        fewest = min(columns, key=lambda name: len(columns[name]))
        if len(columns[fewest]) < max(map(len, columns.values())) or not columns[fewest]:
            return (*own, fewest)
        means = {name: float(np.mean([*column.values()])) for name, column in columns.items()}
        return (*own, best(means, lower=less_is_better(self.key, results)))

    def values(self, results: Results) -> dict[int, float]:
        complete = self._complete(results)
        return self._to_best(complete).values(complete) if self.measured(results) else {}

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        complete = self._complete(results)
        return self._to_best(complete).spread_of(values, complete)

    def _complete(self, results: Results) -> Results:
        """Return the runs with seeds that all variants were measured with."""
        seeds = self.measured(results)
        return {
            name: {seed: results[name][seed] for seed in seeds}
            for name in self.variants
            if name in results
        }

    def _to_best(self, complete: Results) -> Difference:
        """Return the difference to the best of the others."""
        *_, top = self.deciding(complete)
        return Difference(self.metric, self.variant, top)
