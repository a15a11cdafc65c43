"""Intervals against tables, closed forms and their own promise."""

import math

import numpy as np
import pytest

from attnjax.evaluation.statistics import (
    Interval,
    bootstrap_interval,
    paired_interval,
    resampled,
)


@pytest.mark.parametrize(
    "count, confidence, tabulated",
    [(5, 0.95, 2.776), (2, 0.95, 12.706), (11, 0.99, 3.169), (31, 0.90, 1.697)],
)
def test_interval_uses_the_tabulated_t(count, confidence, tabulated):
    values = np.random.default_rng(0).normal(3, 2, count)
    mean, low, high = paired_interval(values.tolist(), confidence)
    half = tabulated * np.std(values, ddof=1) / math.sqrt(count)
    assert mean == pytest.approx(values.mean())
    assert high - mean == pytest.approx(half, rel=2e-4)
    assert mean - low == pytest.approx(half, rel=2e-4)


def test_interval_by_hand():
    # mean 2, deviation 1, t(0.975; 2) = 4.303
    assert paired_interval([1, 2, 3]) == pytest.approx(
        (2, 2 - 4.303 / 3**0.5, 2 + 4.303 / 3**0.5), 1e-3
    )
    assert paired_interval([2.0, 2.0]) == (2.0, 2.0, 2.0)


def test_what_says_nothing_leaves_everything_open():
    assert paired_interval([0.3]) == (0.3, -math.inf, math.inf)
    for bad in (math.nan, math.inf):
        assert paired_interval([0.3, bad, 0.2])[1:] == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="at least one"):
        paired_interval([])
    with pytest.raises(ValueError, match="95"):
        paired_interval([1, 2], 95)


def mean(statistics) -> float:
    return float(statistics[0] / statistics[1])


def pair(first: np.ndarray, second: np.ndarray, **options) -> Interval:
    """Of the difference of two systems on the same sentences."""

    def difference(times: list[np.ndarray]) -> float:
        return mean(times[0] @ second) - mean(times[0] @ first)

    return bootstrap_interval([len(first)], difference, **options)


def test_bootstrap_is_the_normal_interval_of_a_mean():
    generator = np.random.default_rng(1)
    first = np.stack([generator.normal(0.0, 1, 400), np.ones(400)], axis=1)
    second = np.stack([first[:, 0] + generator.normal(0.1, 0.5, 400), np.ones(400)], axis=1)
    found = pair(first, second, resamples=2000)
    paired = second[:, 0] - first[:, 0]
    half = 1.96 * paired.std() / 20
    assert found.estimate == pytest.approx(paired.mean())
    # unpaired samples would be three times as wide
    assert found.high - found.low == pytest.approx(2 * half, rel=0.1)
    assert found.low == pytest.approx(paired.mean() - half, abs=0.2 * half)
    turned = pair(second, first, resamples=2000)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


def test_bootstrap_covers_the_truth_as_often_as_it_says():
    generator = np.random.default_rng(2)
    held = 0
    for trial in range(200):
        first, second = np.ones((2, 40, 2))
        second[:, 0] = generator.normal(1.5, 1, 40)
        found = pair(first, second, resamples=200, confidence=0.8, seed=trial)
        held += found.low <= 0.5 <= found.high
    # 160 expected, deviation 5.7, and a little less for the percentile method at n = 40
    assert 135 <= held <= 178


def test_bootstrap_is_repeatable_and_narrower_for_less_confidence():
    first, second = np.random.default_rng(3).uniform(1, 2, (2, 10, 2))
    same = [pair(first, second, resamples=20, seed=s) for s in (0, 0, 1)]
    assert same[0] == same[1] != same[2]
    wide, narrow = (pair(first, second, confidence=share) for share in (0.95, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_groups_keep_their_sizes():
    seen = []

    def statistic(times: list[np.ndarray]) -> float:
        seen.append([one.sum() for one in times])
        assert [len(one) for one in times] == [3, 50]
        return float(times[0][0])

    found = resampled([3, 50], statistic, resamples=500)
    assert all(sums == [3, 50] for sums in seen)
    # drawn three times with probability 1/3 each
    assert found.mean() == pytest.approx(1, abs=0.15)
    assert found.var() == pytest.approx(2 / 3, rel=0.2)
    assert sorted(set(found)) == [0, 1, 2, 3]


def test_groups_and_shares_are_checked():
    for sizes in ([], [4, 0]):
        with pytest.raises(ValueError, match="groups of at least one sentence"):
            bootstrap_interval(sizes, lambda times: 0.0)
    with pytest.raises(ValueError, match="95"):
        bootstrap_interval([4], lambda times: 0.0, confidence=95)
