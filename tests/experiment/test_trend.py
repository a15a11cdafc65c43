"""How the best value moves: known optima, by seed; seeds and designs that say nothing."""

import math

import pytest

from attnjax.errors import UserError
from attnjax.evaluation.measurement import MetricKey
from attnjax.experiment.claims import Claim
from attnjax.experiment.estimands import RunMetrics
from attnjax.experiment.trend import OptimumSlope

LOSS = MetricKey("loss")
RATES, WIDTHS = (0.25, 0.5, 1.0, 2.0, 8.0), (32, 128, 512)
OVER = tuple((f"{width}_{rate}", rate, width) for width in WIDTHS for rate in RATES)
SLOPE = OptimumSlope("loss", over=OVER, tried="rate", axis="width")


def runs(*bests, worse: float = math.inf):
    """Return the losses of a seed for each function from a width to its best rate.

    A rate of at least `worse` times the best one diverges.
    """

    def loss(rate, best):
        return math.nan if rate >= worse * best else 1 + 3 * math.log(rate / best) ** 2

    return {
        name: {seed: RunMetrics({LOSS: loss(rate, best(width))}) for seed, best in enumerate(bests)}
        for name, rate, width in OVER
    }


def test_the_slope_is_the_exponent_of_the_best_value_of_each_seed():
    results = runs(lambda _: 0.8, lambda width: 0.9 * (width / 128) ** 0.25)
    values = SLOPE.values(results)
    assert values[0] == pytest.approx(0, abs=1e-12)
    assert values[1] == pytest.approx(0.25, abs=1e-12)
    claim = Claim(text="", estimand=SLOPE, low=-0.1, high=0.1)
    assert claim.judge(runs(*[lambda width: 0.8 * width**0.01] * 3)).estimate == pytest.approx(0.01)


def test_beside_a_diverged_run_the_best_value_is_the_measured_one():
    values = SLOPE.values(runs(lambda width: {32: 1.2, 128: 0.6, 512: 0.3}[width], worse=1.5))
    # the lowest are 1, 0.5 and 0.25, and 0.25 is the least value tried
    assert math.isnan(values[0])
    values = SLOPE.values(runs(lambda width: {32: 1.2, 128: 0.6, 512: 0.6}[width], worse=1.5))
    # widths go by factors of 4: log2 of 1, 0.5, 0.5 against 0, 2, 4
    assert values[0] == pytest.approx(-0.25)


@pytest.mark.parametrize("best", [0.1, 20.0])
def test_a_best_value_beyond_those_tried_decides_nothing(best):
    results = runs(*[lambda width: best if width == 128 else 1.0] * 3)
    found = Claim(text="", estimand=SLOPE, low=-1, high=1).judge(results)
    assert (found.verdict, found.reason) == ("undecided", "not every seed has a finite value")


@pytest.mark.parametrize(
    "over, problem",
    [
        (OVER[:5], r"at least two different values of width; got \[32\]"),
        ((*OVER[:5], *OVER[5:7]), r"at least three values, each once, at width 128; got \[0.25, "),
        ((*OVER, ("again", 1.0, 32)), r"each once, at width 32; got \[0.25, 0.5, 1.0, 2.0, 8.0, 1"),
        ((*OVER, ("zero", 0.0, 32)), "over"),
    ],
)
def test_a_design_that_cannot_say_it_is_refused(over, problem):
    with pytest.raises(UserError, match=problem):
        OptimumSlope("loss", over=over, tried="rate", axis="width")
