"""Claims and what becomes of them: one rule, fixed before the run.

A claim is an estimand with its 95 % interval, and the region [low, high] in which the paper's
statement would put it. The interval lies inside the region: "reproduced";
disjoint from it: "not reproduced"; else "undecided".
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from attnjax.config.constraints import check_fields
from attnjax.errors import UserError
from attnjax.experiment.estimands import Difference, Estimand, Results


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
    quantity: Estimand
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.low < self.high:
            raise UserError(f"a claim's low must be below its high; got {self.low} and {self.high}")
        if self.low == -math.inf and self.high == math.inf:
            raise UserError(f"the claim {self.text!r} allows everything: give its low or its high")

    def judge(self, results: Results) -> "Verdict | None":
        """The verdict by the rule of this file; None: what it is about was not measured."""
        interval = self.quantity.interval(results)
        if interval is None:
            return None
        estimate, low, high = interval
        if self.low <= low and high <= self.high:
            verdict = "reproduced"
        elif high < self.low or low > self.high:
            verdict = "not reproduced"
        else:
            verdict = "undecided"
        return Verdict(estimate if math.isfinite(estimate) else None, low, high, verdict)


def gains(metric: str, pairs: Mapping[str, tuple[str, str]], *, low: float) -> tuple[Claim, ...]:
    """A claim for each statement: of its two variants the first has at least `low` more.

    Args:
        metric: of what is more the better.
        pairs: statement: the better variant and the worse.
        low: the smallest effect of interest.
    """
    return tuple(
        Claim(text=text, quantity=Difference(metric, better, worse), low=low)
        for text, (better, worse) in pairs.items()
    )


@dataclass(frozen=True)
class Verdict:
    """A quantity's estimate, its 95 % interval, and what follows for the claim."""

    estimate: float | None
    low: float
    high: float
    verdict: str
