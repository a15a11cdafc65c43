"""Words for results, claims and changes, shared by the table and the page."""

import math
from collections.abc import Sequence

from attnjax.evaluation.measurement import MetricKey
from attnjax.reporting.number import MISSING, estimate, interval, number
from attnjax.reporting.summary import Change, ClaimRow, Row, Summary, TuningRow

ARROWS = {"higher": "↑", "lower": "↓"}
MARKS = {
    "reproduced": "✓",
    "not reproduced": "✗",
    "undecided": "?",
    "not trained": "–",
    "not judged yet": "…",
}


def heading(summary: Summary, key: MetricKey) -> str:
    """The metric in words, with an arrow if one direction is better."""
    better = summary.better(key)
    return str(key) if better is None else f"{key} {ARROWS[better]}"


def count(value: float | None) -> str:
    """A whole number with separators of thousands."""
    return MISSING if value is None else f"{value:,.0f}"


def best(summary: Summary, key: MetricKey) -> set[str]:
    """The variants with the best mean among those that were tested on the same test set.

    A variant whose test set no other variant has is left out: it cannot be compared.
    """
    winners: set[str] = set()
    better = summary.better(key)
    sets: dict[str | None, dict[str, float]] = {}
    for row in summary.rows:
        column = row.column(key)
        if better and column is not None and math.isfinite(column.mean):
            sets.setdefault(row.test_set, {})[row.variant] = column.mean
    for test_set, means in sets.items():
        if test_set is not None and len(means) > 1:
            top = max(means.values()) if better == "higher" else min(means.values())
            winners |= {variant for variant, mean in means.items() if mean == top}
    return winners


def verdict(claim: ClaimRow) -> str:
    """The verdict with its mark, and the word "exploratory" if the claim is."""
    mark = f"{MARKS.get(claim.verdict, '')} {claim.verdict}".strip()
    return f"{mark}, exploratory" if claim.exploratory else mark


def evidence(claim: ClaimRow) -> str:
    """The evidence of a verdict: the estimate, its interval, and the region that we set."""
    effect, ends = estimate(claim.estimate, claim.low, claim.high)
    spread = "counted" if claim.basis == "count" else f"95 % over {claim.basis}: {ends}"
    return f"{effect} ({spread}); wanted: {interval(*claim.region)}, set by us"


def seeds(claim: ClaimRow) -> str:
    """The value of each seed, and the seed that lies far off the others."""
    sentence = "by seed: " + ", ".join(f"{seed}: {number(value, 3)}" for seed, value in claim.seeds)
    if claim.far_off is not None:
        sentence += f"; seed {claim.far_off} lies far off the others"
    return f"{sentence}; {claim.verdict}, because {claim.reason}" if claim.reason else sentence


def origin(claim: ClaimRow) -> str:
    """The source of a claim in the paper, or the words that the question is ours."""
    return claim.source or "our own question"


def changed(change: Change, rows: tuple[Row, ...]) -> str:
    """One change in words: the field, both values, and the variants unless all have it."""
    sentence = f"{change.path}: {change.run} (the file: {change.file})"
    everyone = {row.variant for row in rows} == set(change.variants)
    return sentence if everyone else f"{sentence}, in {', '.join(change.variants)}"


def tuned(tunings: Sequence[TuningRow]) -> str:
    """The tuned fields, and how their values were chosen."""
    fields = dict.fromkeys(field for tuning in tunings for field in tuning.fields)
    seeds = dict.fromkeys(
        str(seed) for tuning in tunings for seed in tuning.seeds or (tuning.seed,)
    )
    mean = "the lowest validation loss, " + ("seed" if len(seeds) == 1 else "mean of seeds")
    return f"{', '.join(fields)}: tuned by {mean} {', '.join(seeds)}"


def losses(tuning: TuningRow) -> str:
    """The validation loss at each point of the grid, in words."""
    state = {None: "not finished", math.inf: "diverged"}
    return ", ".join(
        f"{values(point.values)}: {state.get(point.loss) or number(point.loss)}"
        f"{' (tied)' if point.tied else ''}"
        for point in tuning.points
    )


def chosen(tuning: TuningRow) -> str:
    """The chosen values, and a warning if they lie at the edge of the grid."""
    if not tuning.edges:
        return values(tuning.chosen)
    where = "" if len(tuning.fields) == 1 else f" of {', '.join(tuning.edges)}"
    return f"{values(tuning.chosen)}, at the grid's edge{where}: the best may lie beyond"


def values(point: Sequence[float]) -> str:
    """A value for each tuned field, in their order."""
    return " and ".join(f"{value:.12g}" for value in point)
