"""Claims and what becomes of them: one rule, fixed before the run.

A claim is a quantity, a number for each seed, and the region [low, high] in which the paper's
statement would put it. The quantity's 95 % t interval over seeds lies inside the region:
"reproduced"; disjoint from it: "not reproduced"; else "undecided".
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnjax.errors import UserError
from attnjax.evaluation.significance import paired_interval

type Results = Mapping[str, Mapping[int, Mapping[str, float]]]
"""variant: seed: metric: value."""


@dataclass(frozen=True)
class Quantity:
    """A number for each seed, computed from the results of one or more variants.

    Attributes:
        metric: the name of what was measured.
    """

    metric: str

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that it needs."""
        raise NotImplementedError

    def of(self, measured: Mapping[str, float]) -> float:
        """The quantity from the metric of each variant, all of one seed."""
        raise NotImplementedError

    def record(self) -> dict[str, Any]:
        """Itself, for the summary."""
        raise NotImplementedError

    def values(self, results: Results) -> list[float]:
        """A number for each seed that every variant was run and measured with."""
        columns = {
            variant: {
                seed: metrics[self.metric]
                for seed, metrics in results.get(variant, {}).items()
                if self.metric in metrics
            }
            for variant in self.variants
        }
        seeds = sorted(set.intersection(*(set(column) for column in columns.values())))
        return [self.of({name: column[seed] for name, column in columns.items()}) for seed in seeds]


@dataclass(frozen=True)
class Value(Quantity):
    """The metric of one variant."""

    variant: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.variant,)

    def of(self, measured: Mapping[str, float]) -> float:
        return measured[self.variant]

    def record(self) -> dict[str, Any]:
        return {"kind": "value", "metric": self.metric, "variant": self.variant}


@dataclass(frozen=True)
class Difference(Quantity):
    """The metric of the variant that is said to be better minus that of the worse, by seed.

    Where less of the metric is better, the difference that the claim expects is negative.
    """

    better: str
    worse: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.better, self.worse)

    def of(self, measured: Mapping[str, float]) -> float:
        return measured[self.better] - measured[self.worse]

    def record(self) -> dict[str, Any]:
        sides = {"better": self.better, "worse": self.worse}
        return {"kind": "difference", "metric": self.metric, **sides}


@dataclass(frozen=True)
class Slope(Quantity):
    """The least-squares slope of log metric against log width, over variants of different width.

    Attributes:
        over: (variant, its width), at least two of different width.
    """

    over: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        widths = {width for _, width in self.over}
        if len(widths) < 2 or min(widths) <= 0:
            raise UserError(
                f"a slope wants at least two different positive widths; got {list(self.over)}"
            )

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(variant for variant, _ in self.over)

    def of(self, measured: Mapping[str, float]) -> float:
        values = [measured[variant] for variant in self.variants]
        if not all(math.isfinite(value) and value > 0 for value in values):
            return math.nan
        return float(np.polyfit(np.log([width for _, width in self.over]), np.log(values), 1)[0])

    def record(self) -> dict[str, Any]:
        return {"kind": "slope", "metric": self.metric, "over": [list(pair) for pair in self.over]}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper says, as a region that a quantity must lie in.

    Attributes:
        text: the statement, in words.
        quantity: what is looked at.
        low: the least value that the statement allows: its smallest effect of interest.
        high: the greatest.
    """

    text: str
    quantity: Quantity
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise UserError(f"a claim's low must be below its high; got {self.low} and {self.high}")

    def judge(self, results: Results) -> "Verdict":
        """The verdict by the rule of this file; undecided as well where nothing was measured."""
        values = self.quantity.values(results)
        if not values:
            return Verdict(None, -math.inf, math.inf, "undecided")
        mean, low, high = paired_interval(values)
        if self.low <= low and high <= self.high:
            verdict = "reproduced"
        elif high < self.low or low > self.high:
            verdict = "not reproduced"
        else:
            verdict = "undecided"
        return Verdict(mean if math.isfinite(mean) else None, low, high, verdict)


@dataclass(frozen=True)
class Verdict:
    """A quantity's mean over seeds, its 95 % interval, and what follows for the claim."""

    estimate: float | None
    low: float
    high: float
    verdict: str
