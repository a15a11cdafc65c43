"""Intervals against tables, closed forms and their own promise."""

import math

import numpy as np
import pytest

from attnjax.evaluation.statistics import (
    bootstrap_variance,
    far_off,
    seeds_and_sentences_interval,
    share_difference_interval,
    share_interval,
    t_interval,
)


@pytest.mark.parametrize(
    "count, confidence, tabulated",
    [(5, 0.95, 2.776), (2, 0.95, 12.706), (11, 0.99, 3.169), (31, 0.90, 1.697)],
)
def test_the_interval_uses_the_tabulated_t(count, confidence, tabulated):
    values = np.random.default_rng(0).normal(3, 2, count)
    mean, low, high = t_interval(values.tolist(), confidence)
    half = tabulated * np.std(values, ddof=1) / math.sqrt(count)
    assert mean == pytest.approx(values.mean())
    assert high - mean == pytest.approx(half, rel=2e-4)
    assert mean - low == pytest.approx(half, rel=2e-4)


def test_the_interval_by_hand():
    # mean 2, deviation 1, t(0.975; 2) = 4.303
    assert t_interval([1, 2, 3]) == pytest.approx((2, 2 - 4.303 / 3**0.5, 2 + 4.303 / 3**0.5), 1e-3)
    assert t_interval([2.0, 2.0]) == (2.0, 2.0, 2.0)


def test_values_that_say_nothing_leave_everything_open():
    assert t_interval([0.3]) == (0.3, -math.inf, math.inf)
    assert seeds_and_sentences_interval([0.3], 0.1, 100) == (0.3, -math.inf, math.inf)
    for bad in (math.nan, math.inf):
        assert t_interval([0.3, bad, 0.2])[1:] == (-math.inf, math.inf)
        assert seeds_and_sentences_interval([0.3, bad], 0.1, 9)[1:] == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="at least one"):
        t_interval([])
    with pytest.raises(ValueError, match="95"):
        t_interval([1, 2], 95)


def test_the_bootstraps_variance_is_that_of_a_mean():
    sample = np.random.default_rng(1).normal(0.0, 2.0, 400)
    found = bootstrap_variance([400], lambda places: float(sample[places].mean()))
    assert found == pytest.approx(sample.var() / 400, rel=0.15)
    again, other = (
        bootstrap_variance([400], lambda places: float(sample[places].mean()), seed=s)
        for s in (0, 1)
    )
    assert found == again != other


def test_groups_are_drawn_apart_and_keep_their_sizes():
    seen = []

    def statistic(*groups: np.ndarray) -> float:
        seen.append([len(group) for group in groups])
        assert groups[0].max() < 3
        return float(groups[0].mean() - groups[1].mean())

    found = bootstrap_variance([3, 50], statistic)
    assert all(sizes == [3, 50] for sizes in seen)
    # places 0, 1, 2 have variance 2/3; places 0 to 49 (50^2 - 1) / 12
    assert found == pytest.approx(2 / 3 / 3 + (50**2 - 1) / 12 / 50, rel=0.15)
    for sizes in ([], [4, 1]):
        with pytest.raises(ValueError, match="every group needs at least two sentences"):
            bootstrap_variance(sizes, statistic)


def test_either_variance_alone_gives_students_t():
    values = [1.0, 2.0, 4.0]
    assert seeds_and_sentences_interval(values, 0.0, 100) == pytest.approx(t_interval(values))
    sentences_alone = seeds_and_sentences_interval([2.0, 2.0, 2.0], 0.25, 10)
    # t(0.975; 9) = 2.262
    assert sentences_alone.high - 2.0 == pytest.approx(2.262 * 0.5, rel=1e-3)


def test_the_interval_over_seeds_and_sentences_covers_where_that_over_sentences_does_not():
    """Three seeds that differ by as much as a mean over the sentences does."""
    random = np.random.default_rng(0)
    trials, count, n = 400, 60, 3
    both = sentences_only = 0
    for trial in range(trials):
        sentence_effects = random.normal(0, 4.0, count)
        seed_effects = random.normal(0, 1.2, n)
        gains = seed_effects[:, None] + sentence_effects + random.normal(0, 2.0, (n, count))
        variance = bootstrap_variance(
            [count],
            lambda places, gains=gains: float(gains[:, places].mean()),
            resamples=100,
            seed=trial,
        )
        mean, low, high = seeds_and_sentences_interval(gains.mean(1).tolist(), variance, count)
        both += low <= 0 <= high
        sentences_only += abs(mean) <= 1.96 * math.sqrt(variance)
    # 380 expected, with a deviation of 4.4
    assert 366 <= both <= 398
    assert sentences_only < 330


def test_a_failed_seed_is_named():
    assert far_off([0.55, 0.004, 0.56]) == 1
    assert far_off([0.98, 0.99, 0.97, 0.12, 0.99]) == 3
    assert far_off([0.55, 0.30, 0.56]) is None
    assert far_off([1.0, 2.0]) is None
    assert far_off([3.0, 3.0, 3.0]) is None
    assert far_off([]) is None
    assert far_off([0.1, math.nan, 0.2]) is None


@pytest.mark.parametrize("n", [3, 5, 10])
def test_one_sample_in_twenty_is_accused_wrongly(n):
    random = np.random.default_rng(n)
    named = sum(far_off(random.normal(size=n)) is not None for _ in range(4_000))
    # 200 expected, with a deviation of 14
    assert 150 <= named <= 250


def test_of_seeds_that_fail_outright_most_are_named():
    random = np.random.default_rng(0)
    named = 0
    for _ in range(500):
        values = random.normal(0.9, 0.01, 5)
        failed = int(random.integers(5))
        values[failed] = random.uniform(0.0, 0.3)
        named += far_off(values) == failed
    assert named > 490


@pytest.mark.parametrize(
    ("shares", "count", "low", "high"),
    [
        ([1.0] * 3, 167, 0.916, 1.0),
        ([0.0] * 3, 167, 0.0, 0.084),
        ([0.0] * 6, 167, 0.0, 0.043),
        ([0.9997] * 3, 1000, 0.919, 1.0),
    ],
)
def test_seeds_that_agree_bound_a_share(shares, count, low, high):
    interval = share_interval(shares, count)
    assert interval == pytest.approx((np.mean(shares), low, high), abs=6e-4)
    # the share of wrong answers has the mirrored interval
    mirrored = share_interval([1 - share for share in shares], count)
    assert mirrored == pytest.approx((1 - np.mean(shares), 1 - high, 1 - low), abs=6e-4)


def test_shares_in_the_middle_have_students_t_of_the_log_odds():
    shares, others = [0.4, 0.5, 0.55], [0.2, 0.35, 0.3]
    odds = [math.log((500 * share + 0.5) / (500 * (1 - share) + 0.5)) for share in shares]
    ends = [1 / (1 + math.exp(-end)) for end in t_interval(odds)[1:]]
    assert share_interval(shares, 500) == pytest.approx((np.mean(shares), *ends))
    difference = share_difference_interval(shares, others, 500)
    assert difference == pytest.approx(t_interval(np.subtract(shares, others)))
    assert share_interval([0.4], 500) == t_interval([0.4])
    assert share_interval([0.4, math.nan], 500)[1:] == (-math.inf, math.inf)
    assert share_difference_interval([0.4, math.nan], [0, 0], 500)[1:] == (-math.inf, math.inf)


def test_a_difference_of_shares_near_the_ends():
    right, wrong, count = [1.0] * 5, [0.0] * 5, 1000
    mean, low, high = share_difference_interval(right, wrong, count)
    end = share_interval(right, count).low
    assert (mean, high) == (1.0, 1.0)
    assert low == pytest.approx(1 - math.sqrt(2) * (1 - end))
    assert share_difference_interval(right, right, count) == pytest.approx((0, end - 1, 1 - end))
    # exchanging both turns the interval round
    a, b = [0.99, 1.0, 0.97], [0.1, 0.4, 0.3]
    forth, back = share_difference_interval(a, b, 200), share_difference_interval(b, a, 200)
    assert forth == pytest.approx((-back.estimate, -back.high, -back.low))


def coverage(mean: float, alike: float, seeds: int, count: int, draws: int) -> tuple[float, float]:
    """The shares of intervals that hold the mean, and that lie wholly above it.

    A seed's share comes from a beta distribution of this mean, whose variance is `alike` times that
    of an answer; then `count` answers are drawn.
    """
    generator = np.random.default_rng([seeds, count, int(1000 * mean), int(1000 * alike)])
    strength = 1 / alike - 1
    shares = generator.beta(mean * strength, (1 - mean) * strength, (draws, seeds))
    right = generator.binomial(count, shares) / count
    intervals = np.array([share_interval(row, count)[1:] for row in right])
    below, above = intervals[:, 0] > mean, intervals[:, 1] < mean
    return 1 - float((below | above).mean()), float(below.mean())


ASSUMED = [
    (0.999, 0.02, 5, 1000),
    (0.99, 0.1, 3, 167),
    (0.99, 0.1, 5, 1000),
    (0.97, 0.1, 3, 167),
    (0.97, 0.1, 5, 1000),
    (0.95, 0.05, 5, 1000),
    (0.9, 0.1, 5, 1000),
    (0.88, 0.005, 5, 1000),
    (0.7, 0.05, 3, 167),
    (0.05, 0.1, 5, 1000),
]
"""Mean share, correlation of a seed's answers, seeds and answers, where the rule's 0.1 holds."""


@pytest.mark.parametrize("case", ASSUMED[2:9:3])
def test_intervals_of_shares_hold_as_often_as_they_say(case):
    holds, false = coverage(*case, draws=400)
    assert holds >= 0.92
    assert false <= 0.05


@pytest.mark.long
@pytest.mark.parametrize("case", ASSUMED)
def test_coverage_where_seeds_differ_as_assumed(case):
    holds, false = coverage(*case, draws=10_000)
    assert holds >= 0.93
    assert false <= 0.03


@pytest.mark.long
@pytest.mark.parametrize("case", [(0.97, 0.3, 3, 167), (0.5, 0.5, 5, 1000)])
def test_coverage_where_seeds_differ_more(case):
    assert coverage(*case, draws=10_000)[0] >= 0.88
