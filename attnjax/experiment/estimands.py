"""What a claim is about: a number from the results of runs, and its 95 % interval.

A quantity of runs is a number for each seed, and its interval Student's t over seeds: what other
seeds would give. A quantity of sentences is a mean over seeds, and its interval the bootstrap over
the test split's sentences: what other sentences would give, of these trained models.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attnjax.config.constraints import PositiveFloat, check_fields
from attnjax.errors import UserError
from attnjax.evaluation.measures.by_length import Parts, by_length
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.evaluation.statistics import Interval, bootstrap_interval, paired_interval


class RunMetrics(NamedTuple):
    """What was measured of one run.

    Attributes:
        metrics: numbers by name.
        sentences: what the score of its answers is computed from; None: nothing was decoded.
    """

    metrics: Mapping[str, float]
    sentences: Sentences | None = None


type Results = Mapping[str, Mapping[int, RunMetrics]]
"""variant: seed: what was measured."""


@dataclass(frozen=True)
class Estimand:
    """What a claim is about, computed from the results of one or more variants.

    Attributes:
        metric: the name of what was measured.
    """

    metric: str

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that it needs."""
        raise NotImplementedError

    def interval(self, results: Results) -> Interval | None:
        """The quantity and its 95 % interval; None: it was not measured."""
        raise NotImplementedError

    def record(self) -> dict[str, Any]:
        """Itself, for the summary."""
        raise NotImplementedError


@dataclass(frozen=True)
class PerSeed(Estimand):
    """A number for each seed."""

    def of(self, measured: Mapping[str, float]) -> float:
        """The quantity from the metric of each variant, all of one seed."""
        raise NotImplementedError

    def values(self, results: Results) -> list[float]:
        """A number for each seed that every variant was run and measured with."""
        columns = {
            variant: {
                seed: metrics[self.metric]
                for seed, (metrics, _) in results.get(variant, {}).items()
                if self.metric in metrics
            }
            for variant in self.variants
        }
        seeds = sorted(set.intersection(*(set(column) for column in columns.values())))
        return [self.of({name: column[seed] for name, column in columns.items()}) for seed in seeds]

    def interval(self, results: Results) -> Interval | None:
        values = self.values(results)
        return paired_interval(values) if values else None


@dataclass(frozen=True)
class Value(PerSeed):
    """The metric of one variant."""

    variant: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.variant,)

    def of(self, measured: Mapping[str, float]) -> float:
        return measured[self.variant]

    def record(self) -> dict[str, Any]:
        return {"kind": "value", "metric": self.metric, "variant": self.variant}


@dataclass(frozen=True)
class Difference(PerSeed):
    """The metric of the variant that is said to be better minus that of the worse, by seed.

    Where less of the metric is better, the difference that the claim expects is negative.
    """

    better: str
    worse: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.better, self.worse)

    def of(self, measured: Mapping[str, float]) -> float:
        return measured[self.better] - measured[self.worse]

    def record(self) -> dict[str, Any]:
        sides = {"better": self.better, "worse": self.worse}
        return {"kind": "difference", "metric": self.metric, **sides}


@dataclass(frozen=True)
class Slope(PerSeed):
    """The least-squares slope of log metric against log width, over variants of different width.

    Attributes:
        over: (variant, its width), at least two of different width.
    """

    over: tuple[tuple[str, PositiveFloat], ...]

    def __post_init__(self) -> None:
        check_fields(self)
        if len({width for _, width in self.over}) < 2:
            raise UserError(f"a slope needs at least two different widths; got {list(self.over)}")

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(variant for variant, _ in self.over)

    def of(self, measured: Mapping[str, float]) -> float:
        values = [measured[variant] for variant in self.variants]
        if not all(math.isfinite(value) and value > 0 for value in values):
            return math.nan
        return float(np.polyfit(np.log([width for _, width in self.over]), np.log(values), 1)[0])

    def record(self) -> dict[str, Any]:
        return {"kind": "slope", "metric": self.metric, "over": [list(pair) for pair in self.over]}


@dataclass(frozen=True, kw_only=True)
class SentenceDifference(Estimand):
    """The metric of the variant that is said to be better minus that of the worse, over sentences.

        mean over seeds of metric(better) - metric(worse),   metric: of the corpus of test sentences

    Samples draw the same sentences for both variants and all seeds; it wants one seed or more.

    Source: Koehn 2004.
    """

    metric: str = "bleu"
    better: str
    worse: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.better, self.worse)

    def groups(self, sentences: Sentences) -> list[np.ndarray]:
        """The places of the sentences that are drawn together, a group after the other."""
        return [np.arange(len(sentences.statistics))]

    def of(self, differences: list[float]) -> float:
        """The quantity from the mean difference in each group."""
        return differences[0]

    def record(self) -> dict[str, Any]:
        sides = {"better": self.better, "worse": self.worse}
        kind = {"kind": "sentence_difference", "metric": self.metric}
        return {**kind, **sides, "interval": "sentences"}

    def pairs(self, results: Results) -> list[tuple[Sentences, Sentences]]:
        """Better and worse of each seed that both were run and scored with.

        Raises:
            UserError: they were tested on different sentences.
        """
        better, worse = (
            {
                seed: sentences
                for seed, (_, sentences) in results.get(variant, {}).items()
                if sentences is not None and sentences.metric == self.metric
            }
            for variant in self.variants
        )
        pairs = [(better[seed], worse[seed]) for seed in sorted(better.keys() & worse.keys())]
        if not all(pairs[0][0].comparable(one) for pair in pairs for one in pair):
            raise UserError(
                f"{self.better} and {self.worse} cannot be compared by sentence: "
                "their test splits, or how these are scored, differ"
            )
        return pairs

    def interval(self, results: Results) -> Interval | None:
        pairs = self.pairs(results)
        if not pairs:
            return None
        groups = self.groups(pairs[0][0])
        parts = [[(one.at(places), other.at(places)) for one, other in pairs] for places in groups]

        def statistic(times: list[np.ndarray]) -> float:
            return self.of(
                [
                    sum(better.value(drawn) - worse.value(drawn) for better, worse in part)
                    / len(part)
                    for part, drawn in zip(parts, times, strict=True)
                ]
            )

        return bootstrap_interval([len(places) for places in groups], statistic)


@dataclass(frozen=True, kw_only=True)
class LengthGain(SentenceDifference):
    """How much more the better variant gains on the longest sources than on the shortest.

        mean over seeds of [metric(better) - metric(worse)] on the part of the longest sources
            - the same on that of the shortest

    Samples draw from the longest and from the shortest apart. 0: length makes no difference.

    Attributes:
        parts: how many parts the test split is cut into: see `evaluation.by_length`.

    Source: the statement of Bahdanau et al. 2015, section 5.1 and Figure 2.
    """

    parts: Parts = 4

    def groups(self, sentences: Sentences) -> list[np.ndarray]:
        if sentences.lengths is None:
            raise UserError("a gain by length wants text as source; the test split has none")
        parts = by_length(sentences.lengths, self.parts)
        return [parts[0], parts[-1]]

    def of(self, differences: list[float]) -> float:
        shortest, longest = differences
        return longest - shortest

    def record(self) -> dict[str, Any]:
        return {**super().record(), "kind": "length_gain", "parts": self.parts}
