"""The best of several variants: what papers report of a method with a choice left open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite
from typing import Annotated

from annotated_types import MinLen

from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.statistics import share_interval
from attnjax.experiment.estimands import Estimand, Results, Spread


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
