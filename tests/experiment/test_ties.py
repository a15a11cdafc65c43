"""A claim is judged at every value that tuning cannot tell from the chosen one."""

from dataclasses import replace

import pytest

from attnjax.experiment import Ablation, Claim, Difference, Value
from tests.experiment.test_claims import runs
from tests.tiny import base

GAIN = Claim(text="", estimand=Difference("x", better="a", worse="b"), low=0.5)
ABLATION = Ablation(base=base, variants=dict.fromkeys("abc", base), seeds=3)
CHOSEN_B = [1.0, 1.1, 0.8]
CHOSEN = runs(a=[2.0, 2.1, 1.9], b=CHOSEN_B)


def tied(name: str, **values: list[float]):
    """A variant's runs at tied values: 0.002 is written as at_2."""
    return {name: {(float(f"0.00{at[-1]}"),): seeds for at, seeds in runs(**values).items()}}


def test_opposite_verdicts_at_two_tied_rates_are_none():
    """The rates of b cannot be told apart, so neither can the claim's answer."""
    assert ABLATION.judge(GAIN, CHOSEN).verdict == "reproduced"
    verdict = ABLATION.judge(GAIN, CHOSEN, tied("b", at_2=[3.0, 3.1, 2.8]))
    assert verdict.verdict == "depends on the rate"
    assert verdict.reason == (
        "it is reproduced at the chosen values and not reproduced with b at 0.002"
    )
    assert verdict.p is None


def test_equal_verdicts_at_all_combinations_stand():
    """Two values of a and three of b."""
    both = tied("a", at_2=[2.2, 2.4, 2.1])
    both |= tied("b", at_2=[1.0, 1.15, 0.85], at_4=[0.1, 0.2, 0.3])
    verdict = ABLATION.judge(GAIN, CHOSEN, both)
    assert (verdict.verdict, verdict.combinations) == ("reproduced", 6)
    assert verdict.estimate == ABLATION.judge(GAIN, CHOSEN).estimate


def test_p_and_the_seeds_that_lack_are_the_largest_of_all_combinations():
    spread = [0.8, 1.2, 0.9]
    values = tied("b", at_2=spread, at_4=[1.0, 1.05, 0.85])
    verdict = ABLATION.judge(GAIN, CHOSEN, values)
    alone = ABLATION.judge(GAIN, CHOSEN), ABLATION.judge(GAIN, {**CHOSEN, **runs(b=spread)})
    assert (verdict.verdict, verdict.combinations) == ("reproduced", 3)
    assert verdict.p == alone[1].p > alone[0].p
    hard = replace(GAIN, low=1.05)
    more = [ABLATION.judge(hard, {**CHOSEN, **runs(b=b)}).more_seeds for b in (CHOSEN_B, spread)]
    undecided = ABLATION.judge(hard, CHOSEN, tied("b", at_2=spread))
    assert undecided.verdict == "undecided"
    assert undecided.more_seeds == max(more) > min(more)
    # where more than a thousand seeds lack at one value, nobody says fewer
    never = ABLATION.judge(hard, CHOSEN, tied("b", at_2=[0.95, 0.5, 1.4]))
    assert (never.verdict, never.more_seeds) == ("undecided", None)


def test_a_combination_of_two_tied_values_can_turn_the_verdict():
    """Each of the two values alone leaves the claim reproduced."""
    low, high = tied("a", at_2=[1.7, 1.8, 1.6]), tied("b", at_2=[1.4, 1.55, 1.3])
    easy = Claim(text="", estimand=GAIN.estimand, low=0.3)
    for one in (low, high):
        assert ABLATION.judge(easy, CHOSEN, one).verdict == "reproduced"
    verdict = ABLATION.judge(easy, CHOSEN, low | high)
    assert verdict.verdict == "depends on the rate"
    assert verdict.reason.endswith("undecided with a at 0.002 and b at 0.002")


def test_the_condition_is_judged_at_tied_values_too():
    learnt = Claim(text="", estimand=GAIN.estimand, low=0.5, given=Value("x", "b") >= 0.5)
    verdict = ABLATION.judge(learnt, CHOSEN, tied("b", at_2=[0.1, 0.2, 0.3]))
    assert verdict.reason.endswith("not trained with b at 0.002")


@pytest.mark.parametrize("there", [{}, {"at_2": [1.0, 1.1]}])
def test_a_claim_waits_for_the_seeds_at_tied_values(there):
    missing = tied("b", **there) if there else {"b": {(0.002,): {}}}
    verdict = ABLATION.judge(GAIN, CHOSEN, missing)
    assert verdict.verdict == "not judged yet"
    assert verdict.reason == "not all planned seeds were trained with b at 0.002"


def test_ties_of_other_variants_do_not_matter():
    verdict = ABLATION.judge(GAIN, CHOSEN, tied("c", at_2=[9.0, 9.1, 9.2]))
    assert (verdict.verdict, verdict.combinations) == ("reproduced", 1)
