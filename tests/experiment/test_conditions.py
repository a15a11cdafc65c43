"""A claim is judged only of networks that have learnt."""

import math

import pytest

from attnjax.experiment.claims import Claim
from attnjax.experiment.estimands import Count, Difference, Value
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


def test_a_claim_waits_for_the_planned_seeds_of_its_condition():
    """A condition of two seeds holds, or does not, by chance."""
    claim = Claim(text="", estimand=Value("x", "a"), high=3.97, given=Value("x", "b") >= 0.9)
    full = runs(a=[0.0, 1.0, 2.0, 3.0, 4.0], b=[1.0] * 5)
    assert claim.judge(full, range(5)).verdict == "reproduced"
    for there in ([1.0, 1.0], [0.0, 0.0], []):
        judged = claim.judge({**full, **runs(b=there)}, range(5))
        assert judged.verdict == "not judged yet"
        assert judged.reason == (
            f"x of b, its condition, was measured with {len(there)} of 5 planned seeds"
        )
        assert judged.p is judged.more_seeds is None
    # one seed is enough for a count, in a condition too; a count waits for its condition
    counted = Claim(text="", estimand=Count("x", "c"), low=0.0, given=Value("x", "b") >= 0.9)
    assert counted.judge({**runs(c=[1.0]), **full}, range(5)).verdict == "reproduced"
    few = {**runs(c=[1.0]), **runs(b=[1.0])}
    assert counted.judge(few, range(5)).verdict == "not judged yet"
    given = Claim(text="", estimand=Value("x", "a"), high=3.97, given=Count("x", "b") >= 0.9)
    assert given.judge({**full, **runs(b=[1.0])}, range(5)).verdict == "reproduced"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(Value("x", "a") >= 0.5, "at least 0.5"), (Value("x", "a") <= 0.5, "at most 0.5")],
)
def test_a_run_that_diverged_has_not_learnt(given, wanted):
    claim = Claim(text="", estimand=Value("x", "b"), high=2.0, given=given)
    judged = claim.judge(runs(a=[0.4, math.nan, 0.6], b=[0.1, 0.2, 0.3]))
    assert judged.verdict == "not trained"
    assert f"x of a is nan, and {wanted} is wanted" in judged.reason
