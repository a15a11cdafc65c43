"""How a number changes with another: an advantage with length, a best value with width."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnjax.config.constraints import PositiveFloat, check_fields
from attnjax.errors import UserError
from attnjax.evaluation.measures.by_length import Parts, by_length
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.experiment.estimands import Difference, Estimand, PerSeed, Results, Spread


@dataclass(frozen=True, kw_only=True)
class LengthGain(Difference):
    """The better variant's gain on the longest sources minus its gain on the shortest.

        mean over seeds of [score(better) - score(worse)] on the part with the longest sources
            - the same on the part with the shortest

    The test split is cut into `parts`, see `measures.by_length`; resamples draw from the two parts
    separately. 0 means that length makes no difference. Where each seed has sentences of its own,
    the interval is Student's t over seeds.

    Source: the statement of Bahdanau et al. 2015, section 5.1 and Figure 2.
    """

    of_answers: ClassVar[bool] = True

    parts: Parts = 4

    def groups(self, sentences: Sentences) -> list[np.ndarray]:
        if sentences.lengths is None:
            raise UserError("a gain by length needs sources that are text")
        parts = by_length(sentences.lengths, self.parts)
        return [parts[0], parts[-1]]

    def values(self, results: Results) -> dict[int, float]:
        pairs = self.pairs(results)
        if not all(ours.comparable(theirs) for ours, theirs in pairs.values()):
            raise UserError(
                f"{self.better} and {self.worse} cannot be compared by sentence: "
                "their test splits or their metrics differ"
            )
        return {seed: self.of_sentences(pair, self.groups(pair[0])) for seed, pair in pairs.items()}

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        return self.over_sentences(results) or Estimand.spread_of(self, values, results)


@dataclass(frozen=True)
class OptimumSlope(PerSeed):
    """The least-squares slope of log best value against log x: 0, the best is the same at every x.

    At each x the metric, of which less is better, was measured at several values of a setting. The
    best value is where a parabola of the metric against the logarithm of the value is lowest, drawn
    through the lowest measured point and the two beside it. A seed whose lowest point lies at the
    edge of the values has no slope: its best value is beyond them.

    Attributes:
        over: a variant, its value and its x; at least three values at each of at least two x.
        tried: the name of the values, such as "learning rate".
        axis: the name of x, such as "width".

    Raises:
        UserError: there are fewer x or values, a value occurs twice at an x, or a number is not
            positive and finite.
    """

    over: tuple[tuple[str, PositiveFloat, PositiveFloat], ...]
    tried: str
    axis: str

    def __post_init__(self) -> None:
        check_fields(self)
        places = {x for _, _, x in self.over}
        if len(places) < 2:
            raise UserError(
                f"a slope needs at least two different values of {self.axis}; got {[*places]}"
            )
        for place in places:
            tried = [value for _, value, x in self.over if x == place]
            if len({*tried}) < max(len(tried), 3):
                raise UserError(
                    f"the best {self.tried} needs at least three values, each once, at {self.axis} "
                    f"{place:g}; got {tried}"
                )

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(variant for variant, _, _ in self.over)

    def of(self, measured: Mapping[str, float]) -> float:
        curves: dict[float, list[tuple[float, float]]] = {}
        for variant, value, x in self.over:
            curves.setdefault(x, []).append((math.log(value), measured[variant]))
        best = [lowest(sorted(curve)) for curve in curves.values()]
        if not np.isfinite(best).all():
            return math.nan
        return float(np.polyfit(np.log([*curves]), best, 1)[0])


def lowest(curve: list[tuple[float, float]]) -> float:
    """Return where the parabola through the lowest point and the two beside it is lowest.

    NaN: the lowest point is the first or the last one, or its height is not finite. A point that is
    not finite lies above all others.
    """
    heights = [height if math.isfinite(height) else math.inf for _, height in curve]
    middle = int(np.argmin(heights))
    if middle in (0, len(curve) - 1) or not math.isfinite(heights[middle]):
        return math.nan
    (left, before), (here, least), (right, after) = curve[middle - 1 : middle + 2]
    rise, climb = (before - least) * (right - here), (after - least) * (here - left)
    if not math.isfinite(rise + climb) or rise + climb == 0:
        return here
    return here + (rise * (right - here) - climb * (here - left)) / (2 * (rise + climb))
