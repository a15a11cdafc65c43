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

    A statistic that is a difference of two systems on the same sentences makes it paired.

    Source: Efron & Tibshirani 1993, chapter 13; Koehn 2004.
    """
    _check_confidence(confidence)
    found = resampled(sizes, statistic, resamples=resamples, seed=seed)
    tail = (1 - confidence) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return Interval(statistic([np.ones(n, np.int64) for n in sizes]), float(low), float(high))


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1; got {confidence}")
