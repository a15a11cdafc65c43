"""A claim that compares tuned variants is judged at every value that tuning could not tell apart.

A verdict that holds at some of the tied values (`tuning.tied`) alone is a verdict on the choice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from attnjax.experiment.claims import Verdict
from attnjax.experiment.estimands import Results, RunMetrics

type Tied = Mapping[str, Mapping[str, Mapping[int, RunMetrics]]]
"""The measurements by variant, values that are tied with the chosen ones, and seed."""


def at_ties(
    judge: Callable[[Results], Verdict | None],
    variants: Sequence[str],
    results: Results,
    tied: Tied,
) -> Verdict | None:
    """The verdict if it is the same at all combinations of tied values, else "depends on the rate".

    It is computed from `variants`; `results` are those at the chosen values.
    """
    verdict = judge(results)
    if verdict is None or verdict.verdict == "not judged yet":
        return verdict
    names = [name for name in variants if tied.get(name)]
    combinations = [*product(*(["", *tied[name]] for name in names))]
    for values in combinations[1:]:
        places = [(name, value) for name, value in zip(names, values, strict=True) if value]
        other = judge({**results, **{name: tied[name][value] for name, value in places}})
        where = " and ".join(f"{name} at {value}" for name, value in places)
        if other is None or other.verdict == "not judged yet":
            reason = f"not all planned seeds were trained with {where}"
            return replace(verdict, verdict="not judged yet", reason=reason, p=None)
        if other.verdict != verdict.verdict:
            chosen = f"{verdict.verdict} at the chosen values"
            reason = f"it is {chosen} and {other.verdict} with {where}"
            return replace(verdict, verdict="depends on the rate", reason=reason, p=None)
    return replace(verdict, combinations=len(combinations))
