"""A claim that compares tuned variants is judged at every value that tuning could not tell apart.

A verdict that holds at some of the tied values (`tuning.tied`) alone is a verdict on the choice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from attnjax.experiment.claims import Verdict
from attnjax.experiment.estimands import Results, RunMetrics
from attnjax.experiment.tuning import in_words

type Tied = Mapping[str, Mapping[tuple[float, ...], Mapping[int, RunMetrics]]]
"""The measurements by variant, values that are tied with the chosen ones, and seed."""


def at_ties(
    judge: Callable[[Results], Verdict | None],
    variants: Sequence[str],
    results: Results,
    tied: Tied,
) -> Verdict | None:
    """Return the verdict that holds at all combinations of tied values, or "depends on the rate".

    It is computed from `variants`; `results` are those at the chosen values. p and the number of
    more seeds are the largest of all combinations.
    """
    verdict = judge(results)
    if verdict is None or verdict.verdict == "not judged yet":
        return verdict
    names = [name for name in variants if tied.get(name)]
    combinations, every = [*product(*([(), *tied[name]] for name in names))], [verdict]
    for values in combinations[1:]:
        points = [(name, point) for name, point in zip(names, values, strict=True) if point]
        other = judge({**results, **{name: tied[name][point] for name, point in points}})
        where = " and ".join(f"{name} at {in_words(point)}" for name, point in points)
        if other is None or other.verdict == "not judged yet":
            reason = f"not all planned seeds were trained with {where}"
            return replace(
                verdict, verdict="not judged yet", reason=reason, p=None, more_seeds=None
            )
        if other.verdict != verdict.verdict:
            chosen = f"{verdict.verdict} at the chosen values"
            reason = f"it is {chosen} and {other.verdict} with {where}"
            return replace(
                verdict, verdict="depends on the rate", reason=reason, p=None, more_seeds=None
            )
        every.append(other)
    return replace(
        verdict,
        combinations=len(combinations),
        p=_largest([verdict.p for verdict in every]),
        more_seeds=_largest([verdict.more_seeds for verdict in every]),
    )


def _largest[N: (int, float)](numbers: Sequence[N | None]) -> N | None:
    """Return the largest number; None: one is unknown."""
    known = [number for number in numbers if number is not None]
    return max(known) if len(known) == len(numbers) else None
