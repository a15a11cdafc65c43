"""Claims and what becomes of them: one rule, fixed before the run.

A claim is a quantity with its 95 % interval (see `attnjax.quantity`), and the region [low, high] in
which the paper's statement would put it. The interval lies inside the region: "reproduced";
disjoint from it: "not reproduced"; else "undecided".
"""

import math
from dataclasses import dataclass

from attnjax.errors import UserError
from attnjax.quantity import Quantity, Results


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
        if self.low == -math.inf and self.high == math.inf:
            raise UserError(f"the claim {self.text!r} allows everything: give its low or its high")

    def judge(self, results: Results) -> "Verdict":
        """The verdict by the rule of this file; undecided as well where nothing was measured."""
        interval = self.quantity.interval(results)
        if interval is None:
            return Verdict(None, -math.inf, math.inf, "undecided")
        estimate, low, high = interval
        if self.low <= low and high <= self.high:
            verdict = "reproduced"
        elif high < self.low or low > self.high:
            verdict = "not reproduced"
        else:
            verdict = "undecided"
        return Verdict(estimate if math.isfinite(estimate) else None, low, high, verdict)


@dataclass(frozen=True)
class Verdict:
    """A quantity's estimate, its 95 % interval, and what follows for the claim."""

    estimate: float | None
    low: float
    high: float
    verdict: str
