"""Intervals against tables, closed forms and their own promise."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import beta, t

from attnjax.evaluation.statistics import (
    bootstrap_variance,
    outlier,
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
    assert outlier([0.55, 0.004, 0.56]) == 1
    assert outlier([0.98, 0.99, 0.97, 0.12, 0.99]) == 3
    assert outlier([0.55, 0.30, 0.56]) is None
    assert outlier([1.0, 2.0]) is None
    assert outlier([3.0, 3.0, 3.0]) is None
    assert outlier([]) is None
    assert outlier([0.1, math.nan, 0.2]) is None


@pytest.mark.parametrize("n", [3, 5, 10])
def test_one_sample_in_twenty_is_accused_wrongly(n):
    random = np.random.default_rng(n)
    named = sum(outlier(random.normal(size=n)) is not None for _ in range(4_000))
    # 200 expected, with a deviation of 14
    assert 150 <= named <= 250


def test_of_seeds_that_fail_outright_most_are_named():
    random = np.random.default_rng(0)
    named = 0
    for _ in range(500):
        values = random.normal(0.9, 0.01, 5)
        failed = int(random.integers(5))
        values[failed] = random.uniform(0.0, 0.3)
        named += outlier(values) == failed
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


def odds_of_the_mean(shares: list[float]) -> tuple[float, float]:
    """The ends by the log odds of the mean, written out."""
    mean, error = np.mean(shares), np.std(shares, ddof=1) / math.sqrt(len(shares))
    half = t.ppf(0.975, len(shares) - 1) * error / (mean * (1 - mean))
    odds = math.log(mean / (1 - mean))
    low, high = (1 / (1 + math.exp(-end)) for end in (odds - half, odds + half))
    return low, high


def alike_answers(shares: list[float], count: int) -> tuple[float, float]:
    """The ends by the answers that count, written out."""
    seeds, mean = len(shares), float(np.mean(shares))
    alike = (np.var(shares, ddof=1) / (mean * (1 - mean)) - 1 / count) / (1 - 1 / count)
    answers = seeds * count / (1 + (count - 1) * max(alike, 0.1))
    if alike > 0.1:
        answers /= (t.ppf(0.975, seeds - 1) / t.ppf(0.975, seeds * count - 1)) ** 2
    ends = beta(mean * answers + 0.5, (1 - mean) * answers + 0.5).ppf([0.025, 0.975])
    return float(ends[0]), float(ends[1])


@pytest.mark.parametrize(
    ("shares", "middle"),
    [
        ([0.4, 0.5, 0.55], True),
        ([0.93, 0.95, 0.94], True),
        ([0.998] * 7 + [0.3], True),
        ([0.95, 0.96, 0.97], False),
        ([1.0, 1.0, 1.0, 1.0, 0.8], False),
        ([0.0, 0.01, 0.09], False),
        ([0.5, 0.5, 0.5], False),
    ],
)
def test_ends_of_a_share_in_the_middle_and_near_0_and_1(shares, middle):
    """The middle begins where m (1 - m) is 0.05, and there the seeds' own spread decides."""
    ends = odds_of_the_mean(shares) if middle else alike_answers(shares, 500)
    assert share_interval(shares, 500) == pytest.approx((np.mean(shares), *ends))


def test_one_failed_seed_of_eight_does_not_hide_behind_the_others():
    """Each seed's own log odds would give 0.953 to 0.999, without the mean."""
    mean, low, high = share_interval([0.998] * 7 + [0.3], 500)
    assert (mean, low, high) == pytest.approx((0.9107, 0.446, 0.992), abs=1e-3)


def test_the_interval_of_a_share_holds_its_mean():
    random = np.random.default_rng(0)
    samples = [[1.0, 1.0, 1 - 1 / 50_000], [0.0, 1 / 50_000, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0]]
    samples += [random.beta(*random.uniform(0.05, 3, 2), random.integers(2, 9)) for _ in range(60)]
    for shares in samples:
        for confidence in (0.001, 0.5, 0.95, 1 - 1e-6):
            mean, low, high = share_interval(shares, 50_000, confidence)
            assert 0 <= low <= mean <= high <= 1


def test_a_share_of_things_whose_number_is_not_known():
    near, middle = [1.0, 0.99, 0.98], [0.4, 0.5, 0.45]
    assert share_interval(near, math.inf) == pytest.approx(share_interval(near, 10**9))
    assert share_interval(middle, math.inf) == share_interval(middle, 500)
    spread = [1.0, 1.0, 1.0, 1.0, 0.8]
    assert share_interval(spread, math.inf) == pytest.approx(share_interval(spread, 10**9))


def test_what_is_no_share_has_students_t():
    assert share_interval([0.4], 500) == t_interval([0.4])
    assert share_interval([0.4, math.nan], 500)[1:] == (-math.inf, math.inf)
    assert share_interval([0.4, 1.2, 0.5], 500) == t_interval([0.4, 1.2, 0.5])
    assert share_difference_interval([0.4, math.nan], [0, 0], 500)[1:] == (-math.inf, math.inf)


def test_a_difference_of_shares_in_the_middle_is_paired_by_seed():
    """Student's t of d on the scale of (1 + d) / 2, a share that lies between 0 and 1, too."""
    shares, others = np.array([0.4, 0.5, 0.55]), np.array([0.2, 0.35, 0.3])
    found = share_difference_interval(shares, others, 500)
    ends = odds_of_the_mean((1 + shares - others) / 2)
    assert found == pytest.approx((np.mean(shares - others), *(2 * end - 1 for end in ends)))
    turned = share_difference_interval(shares, others[::-1], 500)
    assert turned.high - turned.low > 1.5 * (found.high - found.low)
    # what seeds have in common is in no difference, however far they are apart
    hard, soft = np.array([0.724, 0.943, 0.969, 0.944]), np.array([0.694, 0.967, 0.963, 0.922])
    assert share_difference_interval(hard, soft, 500) == pytest.approx(
        t_interval(hard - soft), abs=1e-3
    )


def test_a_difference_of_shares_stays_between_its_bounds():
    for better, worse in (
        ([0.94, 0.2, 0.99], [0.06, 0.9, 0.1]),
        ([1.0, 0.9, 0.2], [0.0, 0.0, 0.4]),
    ):
        estimate, low, high = share_difference_interval(better, worse, 500)
        assert -1 <= low < estimate < high <= 1


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


class Seeds(NamedTuple):
    """Seeds whose shares are beta distributed, of which some fail.

    `alike` is the correlation of a seed's answers: the variance of the shares over that of an
    answer. A share `failing` of seeds has the mean `failed` instead, and a correlation of 0.02.
    """

    mean: float
    alike: float = 0.02
    failing: float = 0.0
    failed: float = 0.0

    @property
    def truth(self) -> float:
        return (1 - self.failing) * self.mean + self.failing * self.failed

    def draw(self, seeds: int, count: int, draws: int) -> np.ndarray:
        """The shares of right ones of `count` answers, [draws, seeds]."""
        generator = np.random.default_rng([seeds, count, *(int(1000 * number) for number in self)])

        def shares(mean: float, alike: float) -> np.ndarray:
            strength = 1 / alike - 1
            return generator.beta(mean * strength, (1 - mean) * strength, (draws, seeds))

        drawn = shares(self.mean, self.alike)
        if self.failing:
            fails = generator.random(drawn.shape) < self.failing
            drawn = np.where(fails, shares(self.failed, 0.02), drawn)
        return generator.binomial(count, drawn) / count


class Coverage(NamedTuple):
    """How many intervals hold the truth, lie wholly above it, and hold not their own estimate."""

    holds: float
    above: float
    outside: float


def coverage(better: Seeds, worse: Seeds | None, seeds: int, count: int, draws: int) -> Coverage:
    """The coverage of `share_interval`, or of the difference if there is a worse variant."""
    shares, truth = better.draw(seeds, count, draws), better.truth
    if worse is None:
        found = [share_interval(row, count) for row in shares]
    else:
        truth -= worse.truth
        pairs = zip(shares, worse.draw(seeds, count, draws), strict=True)
        found = [share_difference_interval(*pair, count) for pair in pairs]
    estimate, low, high = np.array(found).T
    return Coverage(
        float(((low <= truth) & (truth <= high)).mean()),
        float((low > truth).mean()),
        float(((estimate < low) | (estimate > high)).mean()),
    )


CASES = [
    # seeds are alike
    (Seeds(0.999, 0.02), Seeds(0.5, 0.02), 5, 1000),
    (Seeds(0.99, 0.1), Seeds(0.05, 0.1), 3, 167),
    (Seeds(0.99, 0.1), Seeds(0.97, 0.1), 5, 1000),
    (Seeds(0.97, 0.1), Seeds(0.5, 0.1), 3, 167),
    (Seeds(0.97, 0.1), Seeds(0.9, 0.05), 8, 500),
    (Seeds(0.95, 0.05), Seeds(0.95, 0.05), 5, 1000),
    (Seeds(0.9, 0.1), Seeds(0.8, 0.05), 5, 1000),
    (Seeds(0.88, 0.005), Seeds(0.85, 0.005), 5, 500),
    (Seeds(0.7, 0.05), Seeds(0.6, 0.05), 3, 167),
    (Seeds(0.5, 0.01), Seeds(0.3, 0.01), 8, 500),
    (Seeds(0.05, 0.1), Seeds(0.01, 0.02), 5, 1000),
    (Seeds(0.9, 0.05), Seeds(0.1, 0.05), 8, 167),
    # seeds differ
    (Seeds(0.97, 0.3), Seeds(0.5, 0.1), 3, 167),
    (Seeds(0.9, 0.3), Seeds(0.6, 0.1), 3, 500),
    (Seeds(0.8, 0.3), Seeds(0.2, 0.3), 4, 500),
    (Seeds(0.9, 0.3), Seeds(0.8, 0.3), 5, 500),
    (Seeds(0.5, 0.5), Seeds(0.3, 0.2), 5, 1000),
    (Seeds(0.9, 0.3), Seeds(0.5, 0.1), 8, 500),
    (Seeds(0.7, 0.5), Seeds(0.3, 0.3), 8, 500),
    # seeds fail
    (Seeds(0.95, 0.02, 0.3, 0.7), Seeds(0.7, 0.05), 3, 500),
    (Seeds(0.99, 0.02, 0.3, 0.8), Seeds(0.5, 0.02), 3, 500),
    (Seeds(0.99, 0.02, 0.3, 0.9), Seeds(0.05, 0.1), 4, 500),
    (Seeds(0.998, 0.02, 0.4, 0.3), Seeds(0.5, 0.02), 5, 500),
    (Seeds(0.998, 0.02, 0.5, 0.3), Seeds(0.998, 0.02, 0.4, 0.3), 5, 500),
    (Seeds(0.95, 0.02, 0.3, 0.7), Seeds(0.7, 0.05), 5, 500),
    (Seeds(0.998, 0.02, 0.25, 0.3), Seeds(0.5, 0.02), 8, 500),
    (Seeds(0.998, 0.02, 0.4, 0.3), Seeds(0.01, 0.02), 8, 500),
    (Seeds(0.9, 0.02, 0.3, 0.5), Seeds(0.8, 0.02, 0.3, 0.3), 8, 500),
    (Seeds(0.99, 0.02, 0.3, 0.8), Seeds(0.6, 0.02, 0.3, 0.1), 8, 500),
    (Seeds(0.95, 0.02, 0.5, 0.05), Seeds(0.05, 0.05), 8, 500),
]
"""The better and the worse variant, the number of seeds, and that of answers."""


def wanted(*variants: Seeds, seeds: int) -> float:
    if all(variant.alike <= 0.1 and not variant.failing for variant in variants):
        return 0.93
    return 0.85 if seeds >= 8 else 0.8


@pytest.mark.parametrize("case", [CASES[2], CASES[6], CASES[8], CASES[25]])
def test_intervals_of_shares_hold_as_often_as_they_say(case):
    better, worse, seeds, count = case
    for other in (None, worse):
        holds, above, outside = coverage(better, other, seeds, count, draws=300)
        assert holds >= wanted(better, other or better, seeds=seeds) - 0.03
        assert not outside
        assert above <= 0.05 or better.failing


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_coverage_of_a_share_and_of_a_difference(case):
    better, worse, seeds, count = case
    for other in (None, worse):
        holds, above, outside = coverage(better, other, seeds, count, draws=4_000)
        least = wanted(better, other or better, seeds=seeds)
        assert holds >= least
        assert above <= 1 - least
        assert not outside


def test_no_interval_knows_the_failure_that_no_seed_showed():
    """Of eight seeds of which each fails in 1 of 8, none fails in 34 % of the samples."""
    case = Seeds(0.998, 0.02, 1 / 8, 0.3), None, 8, 500
    holds, above, _ = coverage(*case, draws=400)
    assert 0.25 < above < 0.45
    assert holds == pytest.approx(1 - above, abs=0.02)
