"""How a variant compares with the best of several, and the best of several by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite
from typing import Annotated

import numpy as np
from annotated_types import MinLen

from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.statistics import share_interval
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


@dataclass(frozen=True)
class BestOf(Estimand):
    """The best metric among several variants, seed by seed: the best of five positions.

    The highest, or the lowest of what less is better of; a value that is not finite is below all
    others. That chance chooses the variant makes it better than any of them is by itself: a claim
    that even the best one fails is the harder to reach, a claim that the best one does it the
    easier.
    """

    among: Annotated[tuple[str, ...], MinLen(2)]

    @property
    def variants(self) -> tuple[str, ...]:
        return self.among

    def values(self, results: Results) -> dict[int, float]:
        lower = less_is_better(self.key, results)
        return {
            seed: values[best(dict(enumerate(values)), lower=lower)]
            for seed, values in self.measured(results).items()
        }

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        if answers := self.answers(results):
            return Spread("seeds", partial(share_interval, values, answers))
        return super().spread_of(values, results)


def best[Name](values: Mapping[Name, float], *, lower: bool) -> Name:
    """Return the name of the best value, the first if several have it; `lower`: the least is best.

    A value that is not finite is below all others.
    """

    def rank(name: Name) -> float:
        value = values[name]
        return (-value if lower else value) if isfinite(value) else -inf

    return max(values, key=rank)


def less_is_better(key: MetricKey, results: Results) -> bool:
    """Return whether less is better of the metric of these runs."""
    return any(key.name in run.lower for runs in results.values() for run in runs.values())
