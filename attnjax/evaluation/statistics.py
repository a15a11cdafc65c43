"""Confidence intervals over seeds and over sentences, and a test for outliers.

A `confidence` is the share of such intervals that contain the truth. scipy.stats is imported when
an interval is computed: importing this module costs nothing.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
LEAST_P = 1e-6
"""The smallest p that is distinguished from 0."""


class Interval(NamedTuple):
    """An estimate and the ends of its confidence interval."""

    estimate: float
    low: float
    high: float


def t_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Return the confidence interval of a mean by Student's t.

        mean +- t((1 + confidence) / 2; n - 1) s / sqrt(n),   s^2 = sum (x - mean)^2 / (n - 1)

    The interval is (-inf, inf) for a single value, which says nothing about the variance, and for
    values that are not all finite, because a run that diverged decides nothing.

    Source: Student 1908.
    """
    sample = _sample(values, confidence)
    if len(sample) == 1 or not np.isfinite(sample).all():
        return Interval(float(sample.mean()), -math.inf, math.inf)
    variance = float(sample.var(ddof=1)) / len(sample)
    return _interval(float(sample.mean()), variance, len(sample) - 1, confidence)


SHARED = 0.1
"""The smallest correlation of a seed's answers that `share_interval` assumes near 0 and 1."""


def share_interval(
    shares: Sequence[float], count: float, confidence: float = CONFIDENCE
) -> Interval:
    """Return the confidence interval of a share of right answers, such as exact match, over seeds.

    S `shares` are of `count` = n answers each; inf: their number is large, and unknown.
    In the middle, where m (1 - m) >= 0.05 and seeds differ, the ends are those of Student's t of
    the mean's log odds y, whose standard error is that of the mean by the delta method. They lie
    in [0, 1], on both sides of m:

        m = mean share,   y = ln(m / (1 - m)),   ends e^z / (1 + e^z),
        z = y -+ t(S - 1) s / (sqrt(S) m (1 - m))

    Near 0 and 1 seeds that agree have a variance of 0, and Student's t says nothing or too much.
    The answers of a seed are correlated, so S n answers count as N:

        v = variance over seeds,   q = (v / (m (1 - m)) - 1/n) / (1 - 1/n)
        N = S n / (1 + (n - 1) max(q, 0.1)),   ends of Beta(m N + 1/2, (1 - m) N + 1/2)

    If q exceeds 0.1, N is also divided by (t(S - 1) / t(S n - 1))^2, since q is itself estimated.
    The end is 0 or 1 where m is.

    No interval can account for what no seed showed. If a share f of all seeds fails outright,
    (1 - f)^S of the samples have no such seed, and their intervals lie above the mean: for f = 1/8
    that is 67 % of samples of three seeds, 51 % of five and 34 % of eight. See `seeds_interval`.

    Source: Agresti 2013, section 3.1 (delta method, log odds); Korn & Graubard 1998, with
    Jeffreys' ends (Brown, Cai & DasGupta 2001).
    """
    sample = _sample(shares, confidence)
    if len(sample) == 1 or count < 2 or not ((sample >= 0) & (sample <= 1)).all():
        return t_interval(shares, confidence)
    ends = _ends_of_log_odds if in_the_middle(sample) else _ends_of_answers
    mean, (low, high) = float(sample.mean()), ends(sample, count, (1 - confidence) / 2)
    return Interval(mean, min(low, mean), max(high, mean))


def _ends_of_log_odds(sample: np.ndarray, count: float, tail: float) -> tuple[float, float]:
    from scipy.special import expit, logit, stdtrit

    mean, seeds = sample.mean(), len(sample)
    error = sample.std(ddof=1) / (math.sqrt(seeds) * mean * (1 - mean))
    half = -stdtrit(seeds - 1, tail) * error
    return float(expit(logit(mean) - half)), float(expit(logit(mean) + half))


def _ends_of_answers(sample: np.ndarray, count: float, tail: float) -> tuple[float, float]:
    from scipy.special import betaincinv, stdtrit

    mean, seeds, share = float(sample.mean()), len(sample), 1 / count
    variance = sample.var(ddof=1) / max(mean * (1 - mean), 1e-12)
    correlation = min(max((variance - share) / (1 - share), 0.0), 1.0)
    effective = seeds / (share + (1 - share) * max(correlation, SHARED))
    if correlation > SHARED:
        effective *= (stdtrit(seeds * count - 1, tail) / stdtrit(seeds - 1, tail)) ** 2
    right, wrong = mean * effective + 0.5, (1 - mean) * effective + 0.5
    low = float(betaincinv(right, wrong, tail)) if mean > 0 else 0.0
    high = float(betaincinv(right, wrong, 1 - tail)) if mean < 1 else 1.0
    return low, high


def share_difference_interval(
    better: Sequence[float], worse: Sequence[float], count: float, confidence: float = CONFIDENCE
) -> Interval:
    """Return the confidence interval of the difference of two shares, paired by seed.

        d - sqrt((a - low_a)^2 + (high_b - b)^2)   to   d + sqrt((high_a - a)^2 + (b - low_b)^2)

    a and b are the mean shares, of `count` answers a seed; d = a - b; their ends are those of
    `share_interval`, and so the interval lies in [-1, 1]. If both shares are in the middle, it is
    Student's t of the differences, which accounts for what the runs of a pair have in common, see
    `of_a_difference`.

    Source: Newcombe 1998; Zou & Donner 2008.
    """
    first, second = (share_interval(shares, count, confidence) for shares in (better, worse))
    pairs = np.array([better, worse], np.float64)
    finite = bool(np.isfinite([*first, *second]).all())
    if not finite or all(map(in_the_middle, pairs)):
        paired = t_interval((pairs[0] - pairs[1]).tolist(), confidence)
        return of_a_difference(paired) if finite else paired
    mean = first.estimate - second.estimate
    below = math.hypot(first.estimate - first.low, second.high - second.estimate)
    above = math.hypot(first.high - first.estimate, second.estimate - second.low)
    return Interval(mean, mean - below, mean + above)


def of_a_difference(interval: Interval) -> Interval:
    """Transform the interval d -+ h of a difference of shares to the scale of its log odds.

        tanh(artanh(d) -+ h / (1 - d^2)),   2 artanh(d) = ln((1 + d) / (1 - d))

    By the delta method h / (1 - d^2) is as wide there as h is here, and no end leaves [-1, 1].
    -1 < d < 1.

    Source: Fisher 1921 (the transformation); Agresti 2013, section 3.1 (delta method).
    """
    mean, low, high = interval
    scale = 1 - mean**2
    ends = (math.tanh(math.atanh(mean) + (end - mean) / scale) for end in (low, high))
    return Interval(mean, *ends)


def in_the_middle(shares: Sequence[float] | np.ndarray) -> bool:
    """Return whether shares differ, and are so far from 0 and 1 that their variance is enough."""
    mean = float(np.mean(shares))
    return mean * (1 - mean) >= 0.05 and bool(np.ptp(shares) > 0)


def seeds_interval(count: int, seeds: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the confidence interval of the share of all seeds for which something holds.

        ends the quantiles (1 - confidence) / 2 of Beta(k, S - k + 1) and
        (1 + confidence) / 2 of Beta(k + 1, S - k)

    It holds for k = `count` of the S seeds that were run.

    Source: Clopper & Pearson 1934.
    """
    from scipy.stats import beta

    tail = (1 - confidence) / 2
    low = float(beta.ppf(tail, count, seeds - count + 1)) if count else 0.0
    high = float(beta.ppf(1 - tail, count + 1, seeds - count)) if count < seeds else 1.0
    return Interval(count / seeds, low, high)


def bootstrap_variance(
    sizes: Sequence[int],
    statistic: Callable[..., float],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> float:
    """Return the variance of a statistic over samples of the sentences, with replacement.

    Each group of sentences is sampled separately and keeps its size; the statistic takes the
    sampled indices of each.

    Source: Efron & Tibshirani 1993, chapter 8 (groups: the two-sample problem); Koehn 2004.
    """
    from scipy.stats import bootstrap

    if not sizes or min(sizes) < 2:
        raise ValueError(f"every group needs at least two sentences; got sizes {list(sizes)}")
    result = bootstrap(
        [np.arange(size) for size in sizes],
        statistic,
        n_resamples=resamples,
        vectorized=False,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(result.standard_error) ** 2


def seeds_and_sentences_interval(
    values: Sequence[float],
    sentence_variance: float,
    sentences: int,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return the confidence interval of a mean over seeds that were tested on the same sentences.

        mean +- t(...; d) sqrt(a + b),   a = s^2 / n,   b = sentence_variance,
        d = (a + b)^2 / (a^2 / (n - 1) + b^2 / (N - 1))

    The interval holds for other seeds and other sentences: the variances over n seeds and over N
    sentences (of the smallest group) add up, with Satterthwaite's degrees of freedom. b is that of
    the mean of the values, see `bootstrap_variance`. A bootstrap over seeds would be too narrow
    with three to five seeds.

    Source: Satterthwaite 1946.
    """
    sample = _sample(values, confidence)
    mean, count = float(sample.mean()), len(sample)
    if count == 1 or not np.isfinite([*sample, sentence_variance]).all():
        return Interval(mean, -math.inf, math.inf)
    seeds = float(sample.var(ddof=1)) / count
    total = seeds + sentence_variance
    if total == 0:
        return Interval(mean, mean, mean)
    freedom = total**2 / (seeds**2 / (count - 1) + sentence_variance**2 / (sentences - 1))
    return _interval(mean, total, freedom, confidence)


DIXON = {3: 0.970, 4: 0.829, 5: 0.710, 6: 0.625, 7: 0.568, 8: 0.526, 9: 0.493, 10: 0.466}
"""Critical values of Dixon's Q at 95 %, two-sided, by the number of values; 10: ten or more.

Source: Rorabacher 1991, Table 2.
"""


def outlier(values: Sequence[float]) -> int | None:
    """Return the index of the outlier by Dixon's Q, or None.

        Q = gap to the nearest other value / range of all values

    The least or the greatest value is an outlier if its Q exceeds Dixon's critical value, wrongly
    so in 5 % of the samples of normal values. Fewer than three values have no outlier.

    Source: Dean & Dixon 1951.
    """
    order = np.argsort(values)
    ordered = np.asarray(values, np.float64)[order]
    width = float(ordered[-1] - ordered[0]) if len(ordered) else 0.0
    if len(ordered) < 3 or not 0 < width < math.inf:
        return None
    gaps = {0: ordered[1] - ordered[0], -1: ordered[-1] - ordered[-2]}
    end = max(gaps, key=lambda end: gaps[end])
    critical = DIXON[min(len(ordered), max(DIXON))]
    return int(order[end]) if gaps[end] / width > critical else None


def _sample(values: Sequence[float], confidence: float) -> np.ndarray:
    if len(values) == 0:
        raise ValueError("an interval needs at least one value; got none")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1; got {confidence}")
    return np.asarray(values, np.float64)


def _interval(mean: float, variance: float, freedom: float, confidence: float) -> Interval:
    from scipy.stats import t

    half = float(t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(variance)
    return Interval(mean, mean - half, mean + half)
