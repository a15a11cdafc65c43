"""How sure a difference is: over seeds by Student's t, over sentences by the bootstrap."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """An estimate and the ends of its confidence interval."""

    estimate: float
    low: float
    high: float


def paired_interval(differences: Sequence[float], confidence: float = 0.95) -> Interval:
    """The confidence interval of a mean, by Student's t.

        mean +- t((1 + confidence) / 2; n - 1) * s / sqrt(n),   s^2 = sum (x - mean)^2 / (n - 1)

    One difference says nothing about the spread: its interval is (-inf, inf). So is that of
    differences that are not all finite: a run that diverged settles nothing.

    Args:
        differences: one a seed; paired because both sides share the seed.
        confidence: the share of such intervals that hold the true mean.

    Raises:
        ValueError: for no differences, or a confidence outside (0, 1).

    Source: Student 1908.
    """
    if len(differences) == 0:
        raise ValueError("an interval needs at least one difference; got none")
    _check_confidence(confidence)
    values = np.asarray(differences, np.float64)
    mean = float(values.mean())
    if len(values) == 1 or not np.isfinite(values).all():
        return Interval(mean, -math.inf, math.inf)
    # jax brings scipy along; only its special functions are loaded, and only here
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(values) - 1, (1 + confidence) / 2))
    half = quantile * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def resampled(
    sizes: Sequence[int],
    statistic: Callable[[list[np.ndarray]], float],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> np.ndarray:
    """A statistic of sentences drawn with replacement, [R]: each group keeps its size.

    Args:
        sizes: how many sentences each group has.
        statistic: of how often each sentence was drawn, int [N] a group.
        resamples: R, how many samples are drawn.
        seed: the same seed draws the same samples.

    Raises:
        ValueError: for no group, or an empty one.

    Source: Efron & Tibshirani 1993, chapter 8 (groups: the two-sample problem).
    """
    if not sizes or min(sizes) < 1:
        raise ValueError(f"groups of at least one sentence were wanted; got sizes {list(sizes)}")
    generator = np.random.default_rng(seed)
    return np.array(
        [
            statistic([np.bincount(generator.integers(n, size=n), minlength=n) for n in sizes])
            for _ in range(resamples)
        ]
    )


def bootstrap_interval(
    sizes: Sequence[int],
    statistic: Callable[[list[np.ndarray]], float],
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The statistic of the sentences as they are, and the percentile interval of `resampled`.

    Raises:
        ValueError: as `resampled`, or for a confidence outside (0, 1).

    Source: Efron & Tibshirani 1993, chapter 13.
    """
    _check_confidence(confidence)
    found = resampled(sizes, statistic, resamples=resamples, seed=seed)
    tail = (1 - confidence) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return Interval(statistic([np.ones(n, np.int64) for n in sizes]), float(low), float(high))


class Bootstrap(NamedTuple):
    """What resampling the sentences says of a difference between two systems.

    Attributes:
        difference: second minus first, on the sentences as they are.
        low: the lower end of the percentile interval.
        high: the upper end.
        wins: the share of samples in which the second is strictly better.
    """

    difference: float
    low: float
    high: float
    wins: float


def paired_bootstrap(
    first: np.ndarray,
    second: np.ndarray,
    value: Callable[[np.ndarray], float],
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Bootstrap:
    """Sentences drawn with replacement, the same for both systems, and scored as a corpus.

    Args:
        first: what the score is computed from, a row a sentence [N, C]; their sum is the corpus's.
        second: the same of the other system, for the same sentences.
        value: the score of summed statistics [C] (`bleu.Protocol.statistics` and `.value`).
        resamples: how many samples are drawn.
        confidence: of the percentile interval.
        seed: the same seed draws the same samples.

    Raises:
        ValueError: for statistics of different shapes, none, or a confidence outside (0, 1).

    Source: Koehn 2004.
    """
    first, second = np.asarray(first), np.asarray(second)
    if first.shape != second.shape or first.ndim != 2 or not len(first):
        raise ValueError(
            "statistics [N, C] of the same sentences were wanted; "
            f"got shapes {list(first.shape)} and {list(second.shape)}"
        )
    _check_confidence(confidence)

    def difference(times: list[np.ndarray]) -> float:
        return value(times[0] @ second) - value(times[0] @ first)

    differences = resampled([len(first)], difference, resamples=resamples, seed=seed)
    tail = (1 - confidence) / 2
    low, high = np.quantile(differences, [tail, 1 - tail])
    return Bootstrap(
        difference=difference([np.ones(len(first), np.int64)]),
        low=float(low),
        high=float(high),
        wins=float((differences > 0).mean()),
    )


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1; got {confidence}")
