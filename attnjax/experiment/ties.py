"""A claim that compares tuned variants is judged at every value that tuning could not tell apart.

Three seeds choose a variant's values, and values within one standard error of the lowest loss are
tied (`tuning.tied`). A verdict that holds at some of them alone is a verdict on the choice.
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

    Args:
        judge: the verdict on some results.
        variants: those that the verdict is computed from.
        results: the measurements at the chosen values.
        tied: those at tied values.
    """
    verdict = judge(results)
    if verdict is None or verdict.verdict == "not judged yet":
        return verdict
    names = [name for name in variants if tied.get(name)]
    combinations = [*product(*(["", *tied[name]] for name in names))]
    for values in combinations[1:]:
        at = {name: value for name, value in zip(names, values, strict=True) if value}
        other = judge({**results, **{name: tied[name][value] for name, value in at.items()}})
        where = " and ".join(f"{name} at {value}" for name, value in at.items())
        if other is None or other.verdict == "not judged yet":
            reason = f"not all planned seeds were trained with {where}"
            return replace(verdict, verdict="not judged yet", reason=reason, p=None)
        if other.verdict != verdict.verdict:
            chosen = f"{verdict.verdict} at the chosen values"
            reason = f"it is {chosen} and {other.verdict} with {where}"
            return replace(verdict, verdict="depends on the rate", reason=reason, p=None)
    return replace(verdict, combinations=len(combinations))
