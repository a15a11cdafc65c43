"""Estimands: numbers computed from the results of runs, each with its confidence interval.

Every estimand has one value per seed. Its interval is Student's t over seeds; that of shares is
`statistics.share_interval`. A difference of scores whose seeds answered the same test sentences has
an interval over seeds and sentences, which holds for others of both.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from attnjax.config.constraints import PositiveFloat, check_fields
from attnjax.errors import UserError
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.measures.by_length import by_length
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.evaluation.statistics import (
    CONFIDENCE,
    Interval,
    bootstrap_variance,
    in_the_middle,
    of_a_difference,
    seeds_and_sentences_interval,
    share_difference_interval,
    share_interval,
    t_interval,
)


class RunMetrics(NamedTuple):
    """The measurements of one run.

    Attributes:
        sentences: the statistics of the answers to the test split; None: nothing was decoded.
        test_set: the digest of the test split; None: unknown.
        shares: the names of numbers that are shares, beside the score of the answers, see
            `numbers.shares`.
        lower: the names of numbers of which less is better, see `numbers.lower`.
    """

    metrics: Mapping[MetricKey, float]
    sentences: Sentences | None = None
    test_set: str | None = None
    shares: frozenset[str] = frozenset()
    lower: frozenset[str] = frozenset()


SEEDS = 3
"""The fewest seeds that decide a claim."""

type Results = Mapping[str, Mapping[int, RunMetrics]]
"""The measurements by variant and seed."""

type Pair = tuple[Sentences, Sentences]
"""The sentences of the better and of the worse variant, with one seed."""


class Spread(NamedTuple):
    """How far an estimate may lie from the truth.

    Attributes:
        basis: the samples that the interval is over: "seeds", or "seeds and sentences".
        at: the interval by its confidence.
    """

    basis: str
    at: Callable[[float], Interval]

    def map(self, change: Callable[[Interval], Interval]) -> "Spread":
        """Return the spread with its intervals mapped by `change`."""
        return self._replace(at=lambda confidence: change(self.at(confidence)))


@dataclass(frozen=True)
class Estimand(ABC):
    """A number that is computed from the results of one or more variants.

    `metric` is the name of a metric ("bleu"), or the key of a part or a moment.
    """

    of_answers: ClassVar[bool] = False
    """Whether the number is computed from the answers, so that only their own metric will do."""

    metric: str | MetricKey

    @property
    def key(self) -> MetricKey:
        """The key of the metric."""
        return MetricKey(self.metric) if isinstance(self.metric, str) else self.metric

    @property
    def words(self) -> str:
        """What the number is, such as "difference of exact match"."""
        return str(self.key)

    @property
    @abstractmethod
    def variants(self) -> tuple[str, ...]:
        """The variants that the number is computed from."""

    @abstractmethod
    def values(self, results: Results) -> dict[int, float]:
        """Return the value of each seed that all variants were run and measured with."""

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        """Return the spread of the mean of the seeds' values, at least one, from these results."""
        return Spread("seeds", partial(t_interval, values))

    def deciding(self, results: Results) -> tuple[str, ...]:
        """Return the variants among these results that the number needs, whatever others come to.

        If two choices of results for some of the variants have the same deciding ones, with equal
        results, the number and its spread are the same with either, and any results of the rest.
        """
        return tuple(variant for variant in self.variants if variant in results)

    def measured(self, results: Results) -> dict[int, tuple[float, ...]]:
        """Return the metric of each variant, by seeds that have all of them."""
        columns = [self.column(variant, results) for variant in self.variants]
        return {
            seed: tuple(column[seed] for column in columns)
            for seed in sorted(columns[0])
            if all(seed in column for column in columns)
        }

    def column(self, variant: str, results: Results) -> dict[int, float]:
        """Return the metric of a variant, by the seeds that it was measured with."""
        runs = results.get(variant, {})
        return {
            seed: run.metrics[self.key] for seed, run in runs.items() if self.key in run.metrics
        }

    def answers(self, results: Results) -> float:
        """Return how many answers of a seed the metric is the share of; 0: it is no share.

        A share of something other than answers, such as of words, counts as one of any number.
        """
        runs = (run for variant in self.variants for run in results.get(variant, {}).values())
        counts = (_answers(run, self.key) for run in runs if self.key in run.metrics)
        return min(counts, default=0)

    def interval(self, results: Results) -> Interval | None:
        """Return the mean over seeds and its 95 % interval; None: nothing was measured."""
        values = [*self.values(results).values()]
        return self.spread_of(values, results).at(CONFIDENCE) if values else None

    def undecidable(self, values: Sequence[float], interval: Interval) -> str:
        """Return why the seeds' values and their interval cannot decide a claim; "": they can."""
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
    """That networks have learnt: `Value("exact_match", "base") >= 0.99`, of the mean over seeds."""

    estimand: Estimand
    low: float = -math.inf
    high: float = math.inf

    def failure(self, results: Results) -> str:
        """Return why the condition does not hold; "": it holds."""
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
        """Return the value of one seed, from the metric of each variant."""

    def values(self, results: Results) -> dict[int, float]:
        return {
            seed: self.of(dict(zip(self.variants, values, strict=True)))
            for seed, values in self.measured(results).items()
        }


def _answers(run: RunMetrics, key: MetricKey) -> float:
    scored = _scored(run, key)
    if scored and scored.metric.share_of_answers:
        return len(_places(scored, key))
    return math.inf if key.name in run.shares else 0


def _scored(run: RunMetrics, key: MetricKey) -> Sentences | None:
    """Return the answers that the metric scores; None: it is no score of answers."""
    sentences = run.sentences
    if sentences is None or sentences.metric.name != key.name or key.moment is not None:
        return None
    return sentences


def _places(sentences: Sentences, key: MetricKey) -> np.ndarray:
    """Return the indices of the sentences in the metric's part of the test split."""
    if key.part is None or sentences.lengths is None:
        return np.arange(len(sentences.statistics))
    number, parts = key.part
    return by_length(sentences.lengths, parts)[number - 1]


@dataclass(frozen=True)
class Value(PerSeed):
    """The metric of one variant."""

    variant: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.variant,)

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        if answers := self.answers(results):
            return Spread("seeds", partial(share_interval, values, answers))
        return super().spread_of(values, results)

    def of(self, measured: Mapping[str, float]) -> float:
        return measured[self.variant]


@dataclass(frozen=True)
class Count(Value):
    """A number of one variant that no seed changes, as of operations: it has no interval."""

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        return Spread("count", lambda _: Interval(*[values[0]] * 3))

    def undecidable(self, values: Sequence[float], interval: Interval) -> str:
        if not np.isfinite(values).all():
            return "the count is not finite"
        return "" if min(values) == max(values) else "the seeds gave different counts"


@dataclass(frozen=True)
class Difference(PerSeed):
    """The metric of the better variant minus the metric of the worse, seed by seed.

    If lower values are better, the expected difference is negative. If all seeds of both variants
    answered the same test sentences, resamples draw the same ones for all of them, see
    `statistics.seeds_and_sentences_interval`. Shares have the interval of
    `statistics.share_difference_interval`, near 0 and 1 always, else unless there is that one.

    Source: Koehn 2004 (paired bootstrap); Satterthwaite 1946.
    """

    better: str
    worse: str

    @property
    def words(self) -> str:
        return f"difference of {self.key}"

    @property
    def variants(self) -> tuple[str, ...]:
        return (self.better, self.worse)

    def of(self, measured: Mapping[str, float]) -> float:
        return measured[self.better] - measured[self.worse]

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        measured, answers = self.measured(results), self.answers(results)
        columns = [*zip(*measured.values(), strict=True)]
        if not answers or all(map(in_the_middle, columns)):
            alike = self.pairs(results).keys() == measured.keys()
            over_both = self.over_sentences(results) if alike else None
            if over_both is not None:
                return over_both.map(of_a_difference) if answers else over_both
        if answers:
            return Spread("seeds", partial(share_difference_interval, *columns, answers))
        return super().spread_of(values, results)

    def over_sentences(self, results: Results) -> Spread | None:
        """Return the spread over seeds and sentences; None: seeds have sentences of their own."""
        for variant in self.variants:
            if len({run.test_set for run in results.get(variant, {}).values()}) > 1:
                return None
        pairs = [*self.pairs(results).values()]
        every = [sentences for pair in pairs for sentences in pair]
        if not every or not all(map(every[0].comparable, every)):
            return None
        groups = self.groups(every[0])
        sizes = [*map(len, groups)]
        if min(sizes) < 2:
            return None

        def mean(*drawn: np.ndarray) -> float:
            places = [group[which] for group, which in zip(groups, drawn, strict=True)]
            return sum(self.of_sentences(pair, places) for pair in pairs) / len(pairs)

        values = [self.of_sentences(pair, groups) for pair in pairs]
        variance = bootstrap_variance(sizes, mean)
        interval = partial(seeds_and_sentences_interval, values, variance, min(sizes))
        return Spread("seeds and sentences", interval)

    def of_sentences(self, pair: Pair, groups: Sequence[np.ndarray]) -> float:
        """Return a seed's value: the gain on the last group, less that on a group before it."""
        better, worse = pair
        gains = [better.at(places).value() - worse.at(places).value() for places in groups]
        return gains[-1] - sum(gains[:-1])

    def groups(self, sentences: Sentences) -> list[np.ndarray]:
        """Return the indices of the sentences that are resampled together, one array per group."""
        return [_places(sentences, self.key)]

    def pairs(self, results: Results) -> dict[int, Pair]:
        """Return the better and the worse variant's sentences, for each seed that has both."""
        better, worse = (
            {
                seed: scored
                for seed, run in results.get(variant, {}).items()
                if (scored := _scored(run, self.key))
            }
            for variant in self.variants
        )
        return {seed: (better[seed], worse[seed]) for seed in sorted(better.keys() & worse.keys())}


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
