"""A claim that compares tuned variants is judged at every value that tuning could not tell apart.

A verdict that holds at some of the tied values (`tuning.tied`) alone is a verdict on the choice.
Values at which the claim's condition does not hold, because networks have not learnt, say nothing
about it: they are named, and do not change the verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from attnjax.experiment.claims import Verdict
from attnjax.experiment.estimands import Results, RunMetrics
from attnjax.experiment.looks import Looks
from attnjax.experiment.tuning import in_words

type Tied = Mapping[str, Mapping[tuple[float, ...], Mapping[int, RunMetrics]]]
"""The measurements by variant, values that are tied with the chosen ones, and seed."""

type Values = Mapping[str, tuple[float, ...]]
"""A combination: the values of each variant with ties; (): the chosen ones."""


def at_ties(looks: Looks, results: Results, tied: Tied) -> Verdict | None:
    """Return the verdict that holds at all combinations of tied values, or "depends on the rate".

    `results` are those at the chosen values. Combinations at which the claim is "not trained" do
    not count if it is judged at the chosen values. p and the number of more seeds are the largest
    of all others.
    """
    verdict = looks.judge(results)
    if verdict is None or verdict.verdict == "not judged yet":
        return verdict
    own = {name: tied[name] for name in looks.claim.variants if tied.get(name)}
    every, untrained = [verdict], dict[str, None]()
    for values in _different(looks, results, own)[1:]:
        other = looks.judge(_at(values, results, own))
        where = _in_words(values)
        if other is None or other.verdict == "not judged yet":
            reason = f"not all planned seeds were trained with {where}"
            return replace(
                verdict, verdict="not judged yet", reason=reason, p=None, more_seeds=None
            )
        if other.verdict == "not trained" != verdict.verdict:
            untrained[_in_words(values, looks.claim.condition_variants)] = None
            continue
        if other.verdict != verdict.verdict:
            chosen = f"{verdict.verdict} at the chosen values"
            reason = f"it is {chosen} and {other.verdict} with {where}"
            return replace(
                verdict, verdict="depends on the rate", reason=reason, p=None, more_seeds=None
            )
        every.append(other)
    return replace(
        verdict,
        combinations=prod(1 + len(points) for points in own.values()),
        untrained_at=tuple(untrained),
        p=_largest([verdict.p for verdict in every]),
        more_seeds=_largest([verdict.more_seeds for verdict in every]),
    )


def _in_words(values: Values, variants: Sequence[str] | None = None) -> str:
    """Return the tied values of a combination in words, of all variants or of these."""
    return " and ".join(
        f"{name} at {in_words(point)}"
        for name, point in values.items()
        if point and (variants is None or name in variants)
    )


def _different(looks: Looks, results: Results, tied: Tied) -> list[Values]:
    """Return the combinations that the numbers may differ at, the first of those that are alike.

    Variants are added one by one, with each of their values. Of combinations in which the deciding
    variants have the same values the first is kept: whatever is added to them, the numbers are the
    same (`Estimand.deciding`). So the first one of all combinations with a verdict is among those
    that are returned, in the order of `itertools.product`. Where all variants decide, that is all
    combinations; for the best of 24, each with two values, fewer than 50 in place of 2^24.
    """
    combinations: list[Values] = [{}]
    fixed = {name: runs for name, runs in results.items() if name not in tied}
    for name, points in tied.items():
        different: dict[tuple[object, ...], Values] = {}
        for values in combinations:
            for point in ((), *points):
                more = {**values, name: point}
                there = fixed | {name: results[name] for name in more}
                numbers = looks.deciding(_at(more, there, tied))
                key = tuple((row, more.get(row)) for needed in numbers for row in (*needed, ""))
                different.setdefault(key, more)
        combinations = [*different.values()]
    return combinations


def _at(values: Values, results: Results, tied: Tied) -> Results:
    """Return results with those at tied values in their place."""
    return {**results, **{name: tied[name][point] for name, point in values.items() if point}}


def _largest[N: (int, float)](numbers: Sequence[N | None]) -> N | None:
    """Return the largest number; None: one is unknown."""
    known = [number for number in numbers if number is not None]
    return max(known) if len(known) == len(numbers) else None
