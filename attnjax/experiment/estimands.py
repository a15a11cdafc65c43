"""What a claim is about: a number computed from the results of runs, and its 95 % interval.

Every estimand has one value per seed. Its interval is Student's t over seeds (what other seeds
would give), or over seeds and sentences (what other seeds and other test sentences would give).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from attnjax.config.constraints import PositiveFloat, check_fields
from attnjax.errors import UserError
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.measures.by_length import Parts, by_length
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.evaluation.statistics import (
    Interval,
    bootstrap_variance,
    seeds_and_sentences_interval,
    t_interval,
)


class RunMetrics(NamedTuple):
    """What was measured of one run.

    Attributes:
        metrics: the numbers.
        sentences: the statistics of its answers to the test split; None: nothing was decoded.
    """

    metrics: Mapping[MetricKey, float]
    sentences: Sentences | None = None


type Results = Mapping[str, Mapping[int, RunMetrics]]
"""variant: seed: what was measured."""


@dataclass(frozen=True)
class Estimand(ABC):
    """A number that is computed from the results of one or more variants.

    Attributes:
        metric: what was measured: a name ("bleu"), or the key of a part or a moment.
    """

    basis: ClassVar[str] = "seeds"
    """What the interval ranges over."""

    of_answers: ClassVar[bool] = False
    """Whether the number is computed from the answers, so that only their own metric will do."""

    metric: str | MetricKey

    @property
    def key(self) -> MetricKey:
        """The key of what was measured."""
        return MetricKey(self.metric) if isinstance(self.metric, str) else self.metric

    @property
    @abstractmethod
    def variants(self) -> tuple[str, ...]:
        """The variants that the number is computed from."""

    @abstractmethod
    def values(self, results: Results) -> dict[int, float]:
        """The value of each seed that every variant was run and measured with."""

    def interval(self, results: Results) -> Interval | None:
        """The mean over seeds and its 95 % interval; None: it was not measured."""
        values = self.values(results)
        return t_interval([*values.values()]) if values else None


@dataclass(frozen=True)
class PerSeed(Estimand):
    """An estimand that is a function of the variants' metrics, seed by seed."""

    @abstractmethod
    def of(self, measured: Mapping[str, float]) -> float:
        """The value of one seed, from the metric of each variant."""

    def values(self, results: Results) -> dict[int, float]:
        columns = {
            variant: {
                seed: metrics[self.key]
                for seed, (metrics, _) in results.get(variant, {}).items()
                if self.key in metrics
            }
            for variant in self.variants
        }
        seeds = sorted(set.intersection(*(set(column) for column in columns.values())))
        return {
            seed: self.of({name: column[seed] for name, column in columns.items()})
            for seed in seeds
        }


@dataclass(frozen=True)
class Value(PerSeed):
    """The metric of one variant."""

    variant: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.variant,)

    def of(self, measured: Mapping[str, float]) -> float:
        return measured[self.variant]


@dataclass(frozen=True)
class Difference(PerSeed):
    """The metric of the variant that is said to be better minus that of the worse, by seed.

    Where less of the metric is better, the claim expects a negative difference.
    """

    better: str
    worse: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.better, self.worse)

    def of(self, measured: Mapping[str, float]) -> float:
        return measured[self.better] - measured[self.worse]


@dataclass(frozen=True)
class Slope(PerSeed):
    """The least-squares slope of log metric against log x, over variants of different x.

    Attributes:
        over: (variant, its x), of at least two different x.
        axis: what x is, as "key width".

    Raises:
        UserError: fewer than two different x, or one that is not positive and finite.
    """

    over: tuple[tuple[str, PositiveFloat], ...]
    axis: str

    def __post_init__(self) -> None:
        check_fields(self)
        if len({place for _, place in self.over}) < 2:
            raise UserError(
                f"a slope needs at least two different values of {self.axis}; got {list(self.over)}"
            )

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(variant for variant, _ in self.over)

    def of(self, measured: Mapping[str, float]) -> float:
        values = [measured[variant] for variant in self.variants]
        if not all(math.isfinite(value) and value > 0 for value in values):
            return math.nan
        return float(np.polyfit(np.log([x for _, x in self.over]), np.log(values), 1)[0])


@dataclass(frozen=True, kw_only=True)
class SentenceDifference(Estimand):
    """The score of the better variant minus that of the worse, over seeds and sentences.

        mean over seeds of score(better) - score(worse),   score: of the corpus of test sentences

    Resamples draw the same sentences for both variants and all seeds; see
    `statistics.seeds_and_sentences_interval`.

    Source: Koehn 2004 (paired bootstrap); Satterthwaite 1946.
    """

    basis: ClassVar[str] = "seeds and sentences"
    of_answers: ClassVar[bool] = True

    better: str
    worse: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.better, self.worse)

    def groups(self, sentences: Sentences) -> list[np.ndarray]:
        """The places of the sentences that are resampled together, one array per group."""
        return [np.arange(len(sentences.statistics))]

    def of(self, differences: list[float]) -> float:
        """The estimand from the difference of the scores in each group."""
        return differences[0]

    def pairs(self, results: Results) -> dict[int, tuple[Sentences, Sentences]]:
        """The better and the worse variant's sentences, for each seed that has both.

        Raises:
            UserError: they were tested on different sentences, or scored differently.
        """
        better, worse = (
            {
                seed: sentences
                for seed, (_, sentences) in results.get(variant, {}).items()
                if sentences is not None and sentences.metric.key == self.key
            }
            for variant in self.variants
        )
        pairs = {seed: (better[seed], worse[seed]) for seed in sorted(better.keys() & worse.keys())}
        first = next(iter(pairs.values()), None)
        if first and not all(first[0].comparable(one) for pair in pairs.values() for one in pair):
            raise UserError(
                f"{self.better} and {self.worse} cannot be compared by sentence: "
                "their test splits, or how these are scored, differ"
            )
        return pairs

    def values(self, results: Results) -> dict[int, float]:
        pairs = self.pairs(results)
        if not pairs:
            return {}
        groups = self.groups(next(iter(pairs.values()))[0])
        return {seed: self._value(pair, groups) for seed, pair in pairs.items()}

    def interval(self, results: Results) -> Interval | None:
        pairs = self.pairs(results)
        if not pairs:
            return None
        groups = self.groups(next(iter(pairs.values()))[0])

        def mean(*drawn: np.ndarray) -> float:
            places = [group[which] for group, which in zip(groups, drawn, strict=True)]
            return sum(self._value(pair, places) for pair in pairs.values()) / len(pairs)

        sizes = [len(places) for places in groups]
        values = [self._value(pair, groups) for pair in pairs.values()]
        return seeds_and_sentences_interval(values, bootstrap_variance(sizes, mean), min(sizes))

    def _value(self, pair: tuple[Sentences, Sentences], groups: list[np.ndarray]) -> float:
        better, worse = pair
        return self.of([better.at(places).value() - worse.at(places).value() for places in groups])


@dataclass(frozen=True, kw_only=True)
class LengthGain(SentenceDifference):
    """How much more the better variant gains on the longest sources than on the shortest.

        mean over seeds of [score(better) - score(worse)] on the part with the longest sources
            - the same on the part with the shortest

    Resamples draw from the two parts apart. 0: length makes no difference.

    Attributes:
        parts: how many parts the test split is cut into: see `measures.by_length`.

    Source: the statement of Bahdanau et al. 2015, section 5.1 and Figure 2.
    """

    parts: Parts = 4

    def groups(self, sentences: Sentences) -> list[np.ndarray]:
        if sentences.lengths is None:
            raise UserError("a gain by length needs sources that are text; the test split has none")
        parts = by_length(sentences.lengths, self.parts)
        return [parts[0], parts[-1]]

    def of(self, differences: list[float]) -> float:
        shortest, longest = differences
        return longest - shortest
