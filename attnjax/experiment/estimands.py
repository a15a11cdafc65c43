"""Estimands: numbers computed from the results of runs, each with its 95 % interval.

Every estimand has one value per seed. Its interval is Student's t over seeds, which holds for other
seeds; for shares of right answers it is `statistics.share_interval`, which also holds near 0 and 1;
or it is an interval over seeds and sentences, which also holds for other test sentences.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
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
    share_difference_interval,
    share_interval,
    t_interval,
)


class RunMetrics(NamedTuple):
    """The measurements of one run.

    Attributes:
        metrics: the value of each metric.
        sentences: the statistics of the answers to the test split; None: nothing was decoded.
    """

    metrics: Mapping[MetricKey, float]
    sentences: Sentences | None = None


SEEDS = 3
"""The fewest seeds that decide a claim."""

type Results = Mapping[str, Mapping[int, RunMetrics]]
"""The measurements by variant and seed."""


@dataclass(frozen=True)
class Estimand(ABC):
    """A number that is computed from the results of one or more variants.

    Attributes:
        metric: the name of a metric ("bleu"), or the key of a part or a moment.
    """

    basis: ClassVar[str] = "seeds"
    """The samples that the interval is over."""

    of_answers: ClassVar[bool] = False
    """Whether the number is computed from the answers, so that only their own metric will do."""

    metric: str | MetricKey

    @property
    def key(self) -> MetricKey:
        """The key of the metric."""
        return MetricKey(self.metric) if isinstance(self.metric, str) else self.metric

    @property
    @abstractmethod
    def variants(self) -> tuple[str, ...]:
        """The variants that the number is computed from."""

    @abstractmethod
    def values(self, results: Results) -> dict[int, float]:
        """The value of each seed that all variants were run and measured with."""

    def interval(self, results: Results) -> Interval | None:
        """The mean over seeds and its 95 % interval; None: nothing was measured."""
        values = self.values(results)
        return t_interval([*values.values()]) if values else None

    def undecidable(self, values: Sequence[float], interval: Interval) -> str:
        """Why the values of the seeds and their interval cannot decide a claim; "": they can."""
        if len(values) < SEEDS:
            return f"fewer than {SEEDS} seeds"
        if not np.isfinite(values).all():
            return "not every seed has a finite value"
        if interval.high - interval.low <= 1e-11 * max(map(abs, values)):
            return "all seeds gave the same value, so nothing is known of their spread"
        return ""

    def __ge__(self, low: float) -> "Condition":
        return Condition(self, low=low)

    def __le__(self, high: float) -> "Condition":
        return Condition(self, high=high)


@dataclass(frozen=True)
class Condition:
    """That networks have learnt: `Value("exact_match", "base") >= 0.99`.

    Attributes:
        estimand: a number whose mean over seeds tells it.
        low: the least mean that will do.
        high: the greatest.
    """

    estimand: Estimand
    low: float = -math.inf
    high: float = math.inf

    def failure(self, results: Results) -> str:
        """Why the condition does not hold; "": it holds."""
        names, key = " and ".join(self.estimand.variants), self.estimand.key
        values = [*self.estimand.values(results).values()]
        if not values:
            return f"{key} of {names} was not measured"
        mean = float(np.mean(values))
        if self.low <= mean <= self.high:
            return ""
        wanted = f"at most {self.high:g}" if self.high < math.inf else f"at least {self.low:g}"
        return (
            f"{key} of {names} is {mean:.3g}, and {wanted} is wanted of networks that have learnt"
        )


@dataclass(frozen=True)
class PerSeed(Estimand):
    """An estimand computed from the variants' metrics, seed by seed."""

    @abstractmethod
    def of(self, measured: Mapping[str, float]) -> float:
        """The value of one seed, from the metric of each variant."""

    def values(self, results: Results) -> dict[int, float]:
        measured = self.measured(results)
        return {
            seed: self.of(dict(zip(self.variants, values, strict=True)))
            for seed, values in measured.items()
        }

    def measured(self, results: Results) -> dict[int, tuple[float, ...]]:
        """The metric of each variant, by seeds that have all of them."""
        columns = [results.get(variant, {}) for variant in self.variants]
        return {
            seed: tuple(column[seed].metrics[self.key] for column in columns)
            for seed in sorted(columns[0])
            if all(seed in column and self.key in column[seed].metrics for column in columns)
        }

    def answers(self, results: Results) -> int:
        """The number of answers a seed of which the metric is the share; 0: it is no share."""
        counts = {
            _answers(run.sentences, self.key)
            for variant in self.variants
            for run in results.get(variant, {}).values()
            if self.key in run.metrics
        }
        return min(counts, default=0)


def _answers(sentences: Sentences | None, key: MetricKey) -> int:
    """The number of answers of which this metric is the share that is right; 0: it is no share."""
    if sentences is None or sentences.metric.name != key.name or key.moment is not None:
        return 0
    if not sentences.metric.share_of_answers:
        return 0
    if key.part is None or sentences.lengths is None:
        return len(sentences.statistics)
    number, parts = key.part
    return len(by_length(sentences.lengths, parts)[number - 1])


@dataclass(frozen=True)
class Value(PerSeed):
    """The metric of one variant."""

    variant: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.variant,)

    def interval(self, results: Results) -> Interval | None:
        values, answers = [*self.values(results).values()], self.answers(results)
        if values and answers:
            return share_interval(values, answers)
        return super().interval(results)

    def of(self, measured: Mapping[str, float]) -> float:
        return measured[self.variant]


@dataclass(frozen=True)
class Count(Value):
    """A number of one variant that no seed changes, as of operations: it has no interval."""

    basis: ClassVar[str] = "count"

    def interval(self, results: Results) -> Interval | None:
        values = [*self.values(results).values()]
        return Interval(values[0], values[0], values[0]) if values else None

    def undecidable(self, values: Sequence[float], interval: Interval) -> str:
        del interval
        if not np.isfinite(values).all():
            return "the count is not finite"
        return "" if min(values) == max(values) else "the seeds gave different counts"


@dataclass(frozen=True)
class Difference(PerSeed):
    """The metric of the better variant minus the metric of the worse, seed by seed.

    The claim says which variant is better. If lower values are better, the expected difference is
    negative.
    """

    better: str
    worse: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.better, self.worse)

    def of(self, measured: Mapping[str, float]) -> float:
        return measured[self.better] - measured[self.worse]

    def interval(self, results: Results) -> Interval | None:
        pairs, answers = [*self.measured(results).values()], self.answers(results)
        if pairs and answers:
            better, worse = zip(*pairs, strict=True)
            return share_difference_interval(better, worse, answers)
        return super().interval(results)


@dataclass(frozen=True)
class Slope(PerSeed):
    """The least-squares slope of log metric against log x, over variants with different x.

    Attributes:
        over: pairs of a variant and its x, with at least two different x.
        axis: the name of x, such as "key width".
        name: what the variants have in common, for the legend of the figure.

    Raises:
        UserError: there are fewer than two different x, or an x is not positive and finite.
    """

    over: tuple[tuple[str, PositiveFloat], ...]
    axis: str
    name: str = ""

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

        mean over seeds of score(better) - score(worse),   score of the whole test split

    Resamples draw the same sentences for both variants and all seeds; see
    `statistics.seeds_and_sentences_interval`. Where each seed has sentences of its own, the spread
    of the seeds is that of the sentences, too, and the interval is Student's t over seeds.

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
        """The indices of the sentences that are resampled together, one array per group."""
        return [np.arange(len(sentences.statistics))]

    def of(self, differences: list[float]) -> float:
        """The estimand from the difference of the scores in each group."""
        return differences[0]

    def pairs(self, results: Results) -> dict[int, tuple[Sentences, Sentences]]:
        """The better and the worse variant's sentences, for each seed that has both.

        Raises:
            UserError: the variants were tested on different sentences, or scored differently.
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
        if not all(ours.comparable(theirs) for ours, theirs in pairs.values()):
            raise UserError(
                f"{self.better} and {self.worse} cannot be compared by sentence: "
                "their test splits or their metrics differ"
            )
        return pairs

    def values(self, results: Results) -> dict[int, float]:
        pairs = self.pairs(results).items()
        return {seed: self._value(pair, self.groups(pair[0])) for seed, pair in pairs}

    def interval(self, results: Results) -> Interval | None:
        pairs = self.pairs(results)
        if not pairs:
            return None
        first, *others = (better for better, _ in pairs.values())
        if not all(map(first.comparable, others)):
            return super().interval(results)
        groups = self.groups(first)

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
    """The better variant's gain on the longest sources minus its gain on the shortest.

        mean over seeds of [score(better) - score(worse)] on the part with the longest sources
            - the same on the part with the shortest

    Resamples draw from the two parts separately. 0 means that length makes no difference.

    Attributes:
        parts: the number of parts that the test split is cut into, see `measures.by_length`.

    Source: the statement of Bahdanau et al. 2015, section 5.1 and Figure 2.
    """

    parts: Parts = 4

    def groups(self, sentences: Sentences) -> list[np.ndarray]:
        if sentences.lengths is None:
            raise UserError("a gain by length needs sources that are text")
        parts = by_length(sentences.lengths, self.parts)
        return [parts[0], parts[-1]]

    def of(self, differences: list[float]) -> float:
        shortest, longest = differences
        return longest - shortest
