"""Shares of seeds: the numbers that see one seed in ten fail, and nothing else change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from attnjax.evaluation.statistics import seeds_interval
from attnjax.experiment.estimands import PerSeed, Results, Spread, Value


@dataclass(frozen=True)
class SeedShare(Value):
    """The share of seeds whose metric is at least `least`: 0.9 of them copy 99 % right.

    The interval is Clopper and Pearson's; ten seeds that all reach it say at least 0.69.
    """

    least: float

    @property
    def words(self) -> str:
        return f"share of seeds with {self.key} of at least {self.least:g}"

    def of(self, measured: Mapping[str, float]) -> float:
        return float(super().of(measured) >= self.least)

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        return Spread("seeds", partial(seeds_interval, round(sum(values)), len(values)))


@dataclass(frozen=True)
class AlikeShare(PerSeed):
    """The share of seeds at which two variants differ by at most `within`.

    Where a seed in fifty fails as a whole, it is in one of the variants, and the mean difference
    says that they differ: it is the share of the others that answers whether they are alike. The
    interval is that of `SeedShare`.
    """

    first: str
    second: str
    within: float

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.first, self.second)

    @property
    def words(self) -> str:
        return f"share of seeds alike in {self.key}"

    def of(self, measured: Mapping[str, float]) -> float:
        return float(abs(measured[self.first] - measured[self.second]) <= self.within)

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        return Spread("seeds", partial(seeds_interval, round(sum(values)), len(values)))
