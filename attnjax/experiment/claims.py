"""Claims and their verdicts, by one rule that is fixed before the run.

A claim is an estimand and the region [low, high] that the estimand lies in if the statement holds.
The verdict is "reproduced" if the 95 % interval lies inside the region, "not reproduced" if it lies
outside, and "undecided" otherwise. It is also undecided if there are fewer than three seeds, or if
all seeds gave the same value of what is no share of right answers, because then the interval says
nothing about other seeds. One seed decides a `Count`, which no seed changes. A claim may have a
condition, that networks have learnt; if it does not hold, the verdict is "not trained". Before
all planned seeds are there, it is "not judged yet".
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from attnjax.config.constraints import check_fields
from attnjax.errors import UserError
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.statistics import far_off
from attnjax.experiment.estimands import Condition, Count, Difference, Estimand, Results

MEANING = ("task", "model", "objective", "metric", "measures", "unknown", "imported")
"""The fields of an experiment that say what a claim or a published figure is about.

"imported" is no field: it stands for the modules that the file's own parts are made of.

A claim or a published figure is about what is learned (task), by which network (model) and for what
(objective), and about how the answers are judged (metric, measures, unknown). If a run differs from
the experiment file in one of these, the statement is not about that run, and is left out. The other
fields (optimizer, training, search) say how long and how well it is done: a statement keeps its
meaning if they are changed, and the report says at its top what was changed.
"""


def changes_meaning(path: str) -> bool:
    """Whether a change at this path makes the file's statements say nothing about the run."""
    return path.partition(".")[0] in MEANING


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement, as a region that an estimand must lie in.

    Attributes:
        text: the statement, in words.
        estimand: the number that the statement is about.
        low: the least value that the statement allows: the smallest effect of interest, set by us.
        high: the greatest value that the statement allows, also set by us.
        given: what must hold before the claim is judged. A claim that something fails, or is
            behind, holds of networks that have not learnt: it needs a condition.
        source: the paper's section and sentence; None: the question is our own.
        exploratory: whether the design was changed after results had been seen, so that the verdict
            is no test.

    Raises:
        UserError: low is not below high, or both are infinite.
    """

    text: str
    estimand: Estimand
    low: float = -math.inf
    high: float = math.inf
    given: Condition | None = None
    source: str | None = None
    exploratory: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.low < self.high:
            raise UserError(f"a claim's low must be below its high; got {self.low} and {self.high}")
        if self.low == -math.inf and self.high == math.inf:
            raise UserError(f"the claim {self.text!r} allows every value: give low or high")

    @property
    def estimands(self) -> tuple[Estimand, ...]:
        """The claim's number, and that of its condition."""
        return (self.estimand,) if self.given is None else (self.estimand, self.given.estimand)

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that the verdict is computed from."""
        names = (name for estimand in self.estimands for name in estimand.variants)
        return tuple(dict.fromkeys(names))

    def judge(self, results: Results, planned: Sequence[int] = ()) -> "Verdict | None":
        """The verdict on the results; None: the estimand was not measured.

        Args:
            results: the measurements by variant and seed.
            planned: the seeds that must be there before the claim is judged; a count needs one.
        """
        interval = self.estimand.interval(results)
        if interval is None:
            return None
        seeds = self.estimand.values(results)
        estimate, low, high = interval
        reason = self.estimand.undecidable([*seeds.values()], interval)
        untrained = "" if self.given is None else self.given.failure(results)
        if len(seeds) < len(planned) and not isinstance(self.estimand, Count):
            verdict = "not judged yet"
            reason = f"there are {len(seeds)} of {len(planned)} planned seeds"
        elif untrained:
            verdict, reason = "not trained", untrained
        elif not reason and self.low <= low and high <= self.high:
            verdict = "reproduced"
        elif not reason and (high < self.low or low > self.high):
            verdict = "not reproduced"
        else:
            verdict = "undecided"
        far = far_off([*seeds.values()])
        return Verdict(
            estimate=estimate,
            low=low,
            high=high,
            verdict=verdict,
            reason=reason,
            seeds=seeds,
            far_off=None if far is None else [*seeds][far],
        )


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on a claim, with the numbers behind it.

    Attributes:
        estimate: the mean over seeds.
        low: the lower end of its 95 % interval.
        high: the upper end.
        verdict: the outcome, by the rule at the top of this file.
        reason: why the claim cannot be decided or judged; "": it can.
        seeds: the value of each seed.
        far_off: the seed whose value lies far from the others, see `statistics.far_off`.
    """

    estimate: float
    low: float
    high: float
    verdict: Literal["reproduced", "not reproduced", "undecided", "not trained", "not judged yet"]
    reason: str
    seeds: Mapping[int, float]
    far_off: int | None


def gains(
    metric: str | MetricKey,
    pairs: Mapping[str, tuple[str, str]],
    *,
    low: float,
    source: str | None = None,
) -> tuple[Claim, ...]:
    """One claim per statement: the first variant of a pair scores at least `low` higher."""
    return tuple(
        Claim(text=text, estimand=Difference(metric, better, worse), low=low, source=source)
        for text, (better, worse) in pairs.items()
    )
