"""A claim is judged only of networks that have learnt."""

import math

import pytest

from attnjax.experiment.claims import Claim
from attnjax.experiment.estimands import Difference, Value
from tests.experiment.test_claims import FIVE, runs


@pytest.mark.parametrize(
    ("given", "verdict", "reason"),
    [
        (Value("x", "a") >= 2.0, "reproduced", ""),
        (Value("x", "a") >= 2.1, "not trained", "x of a is 2, and at least 2.1 is wanted"),
        (Value("x", "b") <= 0.9, "not trained", "x of b is 1, and at most 0.9 is wanted"),
        (Difference("x", "a", "b") >= 1.0, "reproduced", ""),
        (Value("x", "c") >= 0.0, "not trained", "x of c was not measured"),
    ],
)
def test_networks_that_have_not_learnt_decide_nothing(given, verdict, reason):
    claim = Claim(text="", estimand=Value("x", "a"), high=3.97, given=given)
    judged = claim.judge(FIVE)
    assert judged.verdict == verdict
    assert judged.reason.startswith(reason)
    assert bool(judged.reason) == bool(reason)
    assert set(claim.variants) == {"a", *given.estimand.variants}
    assert (judged.estimate, judged.low < 2 < judged.high) == (2, True)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(Value("x", "a") >= 0.5, "at least 0.5"), (Value("x", "a") <= 0.5, "at most 0.5")],
)
def test_a_run_that_diverged_has_not_learnt(given, wanted):
    claim = Claim(text="", estimand=Value("x", "b"), high=2.0, given=given)
    judged = claim.judge(runs(a=[0.4, math.nan, 0.6], b=[0.1, 0.2, 0.3]))
    assert judged.verdict == "not trained"
    assert f"x of a is nan, and {wanted} is wanted" in judged.reason
