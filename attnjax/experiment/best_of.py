"""The best of several variants: what papers report of a method with a choice left open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from annotated_types import MinLen

from attnjax.evaluation.statistics import share_interval
from attnjax.experiment.estimands import PerSeed, Results, Spread


@dataclass(frozen=True)
class BestOf(PerSeed):
    """The highest metric among several variants, seed by seed: the best of five positions.

    That chance chooses the variant makes it higher than any of them is by itself: a claim that even
    the best one fails is the harder to reach, a claim that the best one does it the easier.
    """

    among: Annotated[tuple[str, ...], MinLen(2)]

    @property
    def variants(self) -> tuple[str, ...]:
        return self.among

    def of(self, measured: Mapping[str, float]) -> float:
        return max(measured.values())

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        if answers := self.answers(results):
            return Spread("seeds", partial(share_interval, values, answers))
        return super().spread_of(values, results)
