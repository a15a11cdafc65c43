"""Words for results, claims and changes, shared by the table and the page."""

import math
from collections import defaultdict
from collections.abc import Sequence

from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.statistics import LEAST_P, seeds_interval
from attnjax.experiment.claims import Kind
from attnjax.experiment.tuning import in_words
from attnjax.lab.reporting.number import MISSING, estimate, interval, number
from attnjax.lab.results.summary import (
    Change,
    ClaimRow,
    Column,
    Judged,
    PublishedRow,
    Row,
    Summary,
    TunedPoint,
    TuningRow,
)

ARROWS = {"higher": "↑", "lower": "↓"}
MARKS = {
    "reproduced": "✓",
    "not reproduced": "✗",
    "undecided": "?",
    "not trained": "–",
    "not judged yet": "…",
    "depends on the rate": "±",
}


def heading(summary: Summary, key: MetricKey) -> str:
    """Return the metric in words, with an arrow if one direction is better."""
    better = summary.better(key)
    return str(key) if better is None else f"{key} {ARROWS[better]}"


def count(value: float | None) -> str:
    """Format a whole number with separators of thousands."""
    return MISSING if value is None else f"{value:,.0f}"


def best(summary: Summary, key: MetricKey) -> set[str]:
    """Return the variants with the best mean among those that were tested on the same test set.

    A variant whose test set no other variant has is left out: it cannot be compared. So is one with
    fewer seeds than others, and one whose mean is not finite.
    """
    winners: set[str] = set()
    better = summary.better(key)
    sets: dict[str, dict[str, Column]] = defaultdict(dict)
    for row in summary.rows:
        column = row.column(key)
        if better and column and row.test_set is not None:
            sets[row.test_set][row.variant] = column
    for columns in sets.values():
        most = max(len(column.measured) for column in columns.values())
        whole = {
            name: column.mean for name, column in columns.items() if len(column.measured) == most
        }
        means = {name: mean for name, mean in whole.items() if math.isfinite(mean)}
        if len(means) > 1:
            top = max(means.values()) if better == "higher" else min(means.values())
            winners |= {variant for variant, mean in means.items() if mean == top}
    return winners


def verdict(claim: ClaimRow) -> str:
    """Return the verdict with its mark; whether the claim is exploratory, or younger than runs."""
    return f"{MARKS[claim.verdict]} {verdict_words(claim)}"


def verdict_words(claim: ClaimRow) -> str:
    """Return the verdict without its mark."""
    words = [claim.verdict]
    words += ["exploratory"] if claim.exploratory else []
    words += ["added after the runs"] if claim.added else []
    return ", ".join(words)


def verdicts(claim: Judged) -> str:
    """Return the verdict of a claim, or each with its kind of machine where they differ."""
    if claim.agreed:
        return verdict(next(iter(claim.rows.values())))
    each = (f"{verdict(row)} on {kind}" for kind, row in claim.rows.items())
    return "; ".join(each) or f"{MARKS['not judged yet']} waits for runs"


def machine(claim: ClaimRow) -> str:
    """Return the kind of machine that the verdict is of, if several have one: ", on h100-1"."""
    return f", on {claim.machine}" if claim.machine else ""


def quantity(claim: ClaimRow) -> str:
    """Return what the estimate is of: "difference of exact match"."""
    words = claim.words or str(claim.metric)
    return f"{words}: exponent of {claim.slope.axis}" if claim.slope else words


def effect(claim: ClaimRow) -> str:
    """Return the estimate, to the digits that its interval justifies."""
    return estimate(claim.estimate, claim.low, claim.high)[0]


def ends(claim: ClaimRow) -> str:
    """Return the interval of the estimate, or the words that there is none."""
    if claim.basis == "count":
        return "counted"
    if math.isinf(claim.low) and math.isinf(claim.high):
        return "no interval"
    return estimate(claim.estimate, claim.low, claim.high)[1]


def wanted(claim: ClaimRow) -> str:
    """Return the region that the claim allows."""
    return interval(*claim.region)


def evidence(claim: ClaimRow) -> str:
    """Return the evidence of a verdict: the estimate, its interval, and the region."""
    return f"{estimated(claim)}; {target(claim)}"


def target(claim: ClaimRow) -> str:
    """Return the region and where it comes from, in words."""
    return f"wanted: {wanted(claim)}, {claim.bound or 'set by us'}"


def estimated(claim: ClaimRow) -> str:
    """Return the estimate with its interval and p.

    The interval is that at the chosen values; with ties, p is at most the largest of all
    combinations of tied values.
    """
    spread = ends(claim)
    if spread not in ("counted", "no interval"):
        spread = f"{100 * claim.confidence:.3g} % over {claim.basis}: {spread}"
    if claim.p is not None and claim.basis != "count":
        bound = "at most " if claim.combinations > 1 else ""
        spread += f"; p {'< ' if claim.p <= LEAST_P else bound}{claim.p:.1g}"
    return f"{effect(claim)} ({spread})"


def seeds(claim: ClaimRow) -> str:
    """Return the value of each seed, and the seed that is an outlier."""
    sentence = "by seed: " + ", ".join(f"{seed}: {number(value, 3)}" for seed, value in claim.seeds)
    if claim.far_off is not None:
        sentence += f"; seed {claim.far_off} lies far off the others"
    if claim.reason:
        return f"{sentence}; {cause(claim)}"
    return "; ".join(filter(None, (sentence, few_seeds(claim), wanting(claim), at_ties(claim))))


def cause(claim: ClaimRow) -> str:
    """Return why a claim has no other verdict; "": its interval decides."""
    return f"{claim.verdict}, because {claim.reason}" if claim.reason else ""


def at_ties(claim: ClaimRow) -> str:
    """Say at which combinations of tied values the verdict is the same; "": no values are tied."""
    if claim.untrained_at:
        return (
            "the same at all combinations of tied values with networks that have learnt; they have "
            f"not with {'; '.join(claim.untrained_at)}"
        )
    if claim.combinations == 1:
        return ""
    return f"the same at {claim.combinations} combinations of tied values"


FEW = 10
"""Fewer seeds than these say little about how many of all seeds fail."""


def few_seeds(claim: ClaimRow) -> str:
    """Say what few seeds cannot exclude: "3 of 3 seeds meet it; up to 71 % of seeds could fail"."""
    number, reproduced = len(claim.seeds), claim.verdict == "reproduced"
    decided = reproduced or claim.verdict == "not reproduced"
    if claim.basis == "count" or not decided or number >= FEW:
        return ""
    least, most = claim.region
    met = sum(least <= value <= most for _, value in claim.seeds)
    share = seeds_interval(number - met if reproduced else met, number).high
    could = "could fail" if reproduced else "could"
    return f"{met} of {number} seeds meet it; up to {100 * share:.0f} % of seeds {could}"


def wanting(claim: ClaimRow) -> str:
    """Return how many more seeds would decide an undecided claim, and how long they would take."""
    if claim.verdict != "undecided":
        return ""
    spread = "this spread" if claim.combinations == 1 else "the spreads of all tied values"
    if claim.more_seeds is None:
        return f"no thousand more seeds would decide it at {spread}"
    more = "1 more seed" if claim.more_seeds == 1 else f"{claim.more_seeds:,} more seeds"
    minutes = "" if claim.more_minutes is None else f", in {number(claim.more_minutes, 2)} minutes"
    return f"{more} would decide it at {spread}{minutes}"


KINDS: dict[Kind, str] = {
    "figure": "its printed figure",
    "setting": "its setting",
    "reduced": "a reduced setting",
    "stand-in": "a small task of ours",
}
"""What is said of the runs of a published claim, by its kind."""


def origin(claim: ClaimRow | Judged) -> str:
    """Return the source of a claim, what is printed there and the kind, or that it is ours."""
    if claim.kind is None:
        return "our own question"
    return f"{': '.join(filter(None, (claim.source, claim.quote)))}; {KINDS[claim.kind]}"


def published(figure: PublishedRow) -> str:
    """Return the paper and table of a figure, and why it cannot be compared with ours."""
    where = f"{figure.paper}, {figure.table}"
    return f"{where}; not comparable: {figure.why_not}" if figure.why_not else where


def changed(change: Change, rows: tuple[Row, ...]) -> str:
    """Describe one change: the field, both values, and the variants unless all have it."""
    sentence = f"{change.path}: {change.run} (the file: {change.file})"
    everyone = {row.variant for row in rows} == set(change.variants)
    return sentence if everyone else f"{sentence}, in {', '.join(change.variants)}"


def tuned(tunings: Sequence[TuningRow]) -> str:
    """Return the tuned fields, and how their values were chosen."""
    fields = dict.fromkeys(field for tuning in tunings for field in tuning.fields)
    seeds = dict.fromkeys(str(seed) for tuning in tunings for seed in tuning.seeds)
    mean = "the lowest validation loss, " + ("seed" if len(seeds) == 1 else "mean of seeds")
    return f"{', '.join(fields)}: tuned by {mean} {', '.join(seeds)}"


def grid(tunings: Sequence[TuningRow]) -> list[tuple[float, ...]]:
    """Return the points that some variant was tuned over, in their order."""
    return sorted({point.values for tuning in tunings for point in tuning.points})


def loss_at(tuning: TuningRow, values: tuple[float, ...]) -> str:
    """Return the validation loss at a point of the grid, in words; "": the point was not tried."""
    return ", ".join(_loss(point) for point in tuning.points if point.values == values)


def losses(tuning: TuningRow) -> str:
    """Return the validation loss at each point of the grid, in words."""
    return ", ".join(f"{values(point.values)}: {_loss(point)}" for point in tuning.points)


def _loss(point: TunedPoint) -> str:
    state = {None: "not finished", math.inf: "diverged"}
    return f"{state.get(point.loss) or number(point.loss)}{' (tied)' if point.tied else ''}"


def chosen(tuning: TuningRow) -> str:
    """Return the chosen values, and a warning if they lie at the edge of the grid."""
    if not tuning.edges:
        return values(tuning.chosen)
    where = "" if len(tuning.fields) == 1 else f" of {', '.join(tuning.edges)}"
    return f"{values(tuning.chosen)}, at the grid's edge{where}: the best may lie beyond"


def values(point: Sequence[float]) -> str:
    """Return a value for each tuned field, in their order."""
    return in_words(point)
