"""Claims and their verdicts, by one rule that is fixed before the run.

A claim is an estimand and the region [low, high] that the estimand lies in if the statement holds.
The verdict is "reproduced" if the 95 % interval lies inside the region, "not reproduced" if it lies
outside, and "undecided" otherwise, or if there are fewer than three seeds, or if all seeds gave the
same value of what is no share: the interval then says nothing about other seeds.
One seed decides a `Count`, which no seed changes. If a claim's condition, that networks have
learnt, does not hold, the verdict is "not trained"; before all planned seeds are there, those of
the condition too, "not judged yet". A claim is judged at each of the values that tuning could not
tell apart and at which networks have learnt; if the verdicts differ, it "depends on the rate".
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from attnjax.config.constraints import check_fields
from attnjax.errors import UserError, named
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.statistics import CONFIDENCE, LEAST_P, Interval, outlier
from attnjax.experiment.estimands import Condition, Count, Difference, Estimand, Results, Spread

Kind = Literal["figure", "setting", "reduced", "stand-in"]
"""What the runs of a published claim are, see `Claim`."""

KINDS: tuple[Kind, ...] = get_args(Kind)

MOST_SEEDS = 1_000
"""The most seeds that are said to be missing."""

MEANING = ("task", "model", "objective", "metric", "measures", "unknown", "imported")
"""The fields of an experiment that say what a claim or a published figure is about.

If a run differs from the file in one of these, the statement is left out; "imported" stands for the
modules of the file's own parts. The other fields (optimizer, training, search) say how long and how
well it is done: the report says at its top if they are changed.
"""


def changes_meaning(path: str) -> bool:
    """Return whether a change at this path makes the file's statements meaningless for the run."""
    return path.partition(".")[0] in MEANING


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement, as a region that an estimand must lie in.

    Attributes:
        text: the statement, in words.
        low: the least value that the statement allows, such as the smallest effect of interest.
        high: the greatest value that the statement allows.
        given: what must hold before the claim is judged. A claim that something fails, or is
            behind, holds of networks that have not learnt: it needs a condition.
        kind: "figure": its authors' own setting, beside their printed number; "setting": their own
            setting, of which no number in our unit is printed; "reduced": a smaller setting, whose
            sign or order is judged; "stand-in": a small task of ours; None: our own question.
        source: the paper, and its table or section; None: the question is our own.
        quote: what is printed there, numbers or literal words alone; None: it is not quoted.
        bound: where the region comes from, in words; None: it is set by us.
        exploratory: whether the design was changed after results had been seen, or chosen by
            scores of the test split, so that the verdict is no test.

    Raises:
        UserError: low is not below high, both are infinite, or there is a kind or a quote without
            a source, or a source without a kind.
    """

    text: str
    estimand: Estimand
    low: float = -math.inf
    high: float = math.inf
    given: Condition | None = None
    kind: Kind | None = None
    source: str | None = None
    quote: str | None = None
    bound: str | None = None
    exploratory: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.low < self.high:
            raise UserError(f"a claim's low must be below its high; got {self.low} and {self.high}")
        if self.low == -math.inf and self.high == math.inf:
            raise UserError(f"the claim {self.text!r} allows every value: give low or high")
        if self.source is not None and self.kind is None:
            raise UserError(
                f"the claim {self.text!r} has a source: say its kind, one of {', '.join(KINDS)}"
            )
        if self.source is None and (self.kind is not None or self.quote is not None):
            raise UserError(f"the claim {self.text!r} has a kind or a quote, but no source")

    @property
    def estimands(self) -> tuple[Estimand, ...]:
        """The claim's number, and that of its condition."""
        return (self.estimand,) if self.given is None else (self.estimand, self.given.estimand)

    @property
    def condition_variants(self) -> tuple[str, ...]:
        """The variants that the condition is about."""
        return () if self.given is None else self.given.estimand.variants

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that the verdict is computed from."""
        names = (name for estimand in self.estimands for name in estimand.variants)
        return tuple(dict.fromkeys(names))

    def judge(
        self, results: Results, planned: Sequence[int] = (), looks: int = 1
    ) -> "Verdict | None":
        """Return the verdict on the results; None: the estimand was not measured.

        The `planned` seeds must be there before the claim is judged, those of its condition too; a
        count needs one. If this is one of n `looks`, the interval that decides has the confidence
        1 - 0.05 / n, and p is n times that of a single look, by Bonferroni's inequality.
        """
        seeds = self.estimand.values(results)
        if not seeds:
            return None
        confidence = 1 - (1 - CONFIDENCE) / looks
        spread = self.estimand.spread_of([*seeds.values()], results)
        estimate, low, high = interval = spread.at(confidence)
        reason = self.estimand.undecidable([*seeds.values()], interval)
        untrained = "" if self.given is None else self.given.failure(results)
        waits = self._waits(results, planned)
        if waits:
            verdict, reason = "not judged yet", waits
        elif untrained:
            verdict, reason = "not trained", untrained
        else:
            verdict = "undecided" if reason else self._where(interval)
        far = outlier([*seeds.values()])
        more = verdict == "undecided" and not reason
        return Verdict(
            estimate=estimate,
            low=low,
            high=high,
            confidence=confidence,
            basis=spread.basis,
            p=None if reason or spread.basis == "count" else self._p(spread, looks),
            more_seeds=self._more_seeds(interval, len(seeds), confidence) if more else None,
            verdict=verdict,
            reason=reason,
            seeds=seeds,
            far_off=None if far is None else [*seeds][far],
        )

    def _waits(self, results: Results, planned: Sequence[int]) -> str:
        """Return why the claim waits for seeds, of its number or its condition; "": it does not."""
        there = f"of {len(planned)} planned seeds"
        for estimand in self.estimands:
            seeds = len(estimand.values(results))
            if seeds >= (min(len(planned), 1) if isinstance(estimand, Count) else len(planned)):
                continue
            if estimand is self.estimand:
                return f"there are {seeds} {there}{self._of_rows(results, len(planned))}"
            names = " and ".join(estimand.variants)
            return f"{estimand.key} of {names}, its condition, was measured with {seeds} {there}"
        return ""

    def _of_rows(self, results: Results, planned: int) -> str:
        """Say which of several variants lack seeds: " of row_a and row_b"; "": there is one."""
        estimand = self.estimand
        rows = [name for name in estimand.variants if len(estimand.column(name, results)) < planned]
        return f" of {named(rows)}" if rows and len(estimand.variants) > 1 else ""

    def _where(self, interval: Interval) -> Literal["reproduced", "not reproduced", "undecided"]:
        _, low, high = interval
        if self.low <= low and high <= self.high:
            return "reproduced"
        return "not reproduced" if high < self.low or low > self.high else "undecided"

    def _p(self, spread: Spread, looks: int) -> float:
        """Return the least p, from LEAST_P to 1, at which a look decides: confidence 1 - p / looks.

        With one look that is 1 less the largest confidence whose interval decides.
        """

        def decides(exponent: float) -> bool:
            return self._where(spread.at(1 - 10.0**exponent / looks)) != "undecided"

        low, high = math.log10(LEAST_P), math.log10(0.999)
        if decides(low):
            return LEAST_P
        if not decides(high):
            return 1.0
        while high - low > 1e-3:
            middle = (low + high) / 2
            low, high = (low, middle) if decides(middle) else (middle, high)
        return 10.0**high

    def _more_seeds(self, interval: Interval, seeds: int, confidence: float) -> int | None:
        """Return the seeds that would still be needed, at this spread; None: more than MOST_SEEDS.

        An interval of S seeds is t(S - 1) / sqrt(S) times as wide as the seeds' spread.
        """
        from scipy.stats import t

        estimate, low, high = interval
        above, below = max(high - estimate, 1e-12), max(estimate - low, 1e-12)
        if self.low <= estimate <= self.high:
            room = min((estimate - self.low) / below, (self.high - estimate) / above)
        else:
            room = max((self.low - estimate) / above, (estimate - self.high) / below)
        counts = np.arange(seeds, seeds + MOST_SEEDS + 1)
        widths = t.ppf((1 + confidence) / 2, counts - 1) / np.sqrt(counts)
        enough = np.flatnonzero(widths < room * widths[0])
        return int(enough[0]) if len(enough) else None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on a claim, by the rule at the top of this file, with the numbers behind it.

    Attributes:
        estimate: the mean over seeds; `low` and `high` are the ends of its interval.
        basis: the samples that the interval is over, "count" if there are none.
        p: 1 less the largest confidence whose interval decides, times the number of looks, and the
            largest of all combinations of tied values; None: the claim has no verdict, or is a
            count.
        more_seeds: how many more seeds would decide at the spread seen; None: the claim is decided,
            or they are more than MOST_SEEDS.
        reason: why the claim cannot be decided or judged; "": it can.
        combinations: the number of combinations of tied values that have this verdict, with those
            of `untrained_at`.
        untrained_at: tied values at which the condition does not hold; they decide nothing.
        seeds: the value of each seed.
        far_off: the seed whose value lies far from the others, see `statistics.outlier`.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    basis: str
    p: float | None
    more_seeds: int | None
    verdict: Literal[
        "reproduced",
        "not reproduced",
        "undecided",
        "not trained",
        "not judged yet",
        "depends on the rate",
    ]
    reason: str
    combinations: int = 1
    untrained_at: tuple[str, ...] = ()
    seeds: Mapping[int, float]
    far_off: int | None


def gains(
    metric: str | MetricKey,
    pairs: Mapping[str, tuple[str, str]],
    *,
    low: float,
    kind: Kind | None = None,
    source: str | None = None,
    quote: str | None = None,
) -> tuple[Claim, ...]:
    """Make one claim per statement: the first variant of a pair scores at least `low` higher."""
    claim = partial(Claim, low=low, kind=kind, source=source, quote=quote)
    return tuple(
        claim(text=text, estimand=Difference(metric, better, worse))
        for text, (better, worse) in pairs.items()
    )
