"""The share of seeds that do it: the only number that sees a seed in ten fail whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from attnjax.evaluation.statistics import seeds_interval
from attnjax.experiment.estimands import Results, Spread, Value


@dataclass(frozen=True)
class SeedShare(Value):
    """The share of seeds whose metric is at least `least`: 0.9 of them copy 99 % right.

    The interval is Clopper and Pearson's; ten seeds that all reach it say at least 0.69.
    """

    least: float

    def of(self, measured: Mapping[str, float]) -> float:
        return float(super().of(measured) >= self.least)

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        return Spread("seeds", partial(seeds_interval, round(sum(values)), len(values)))
