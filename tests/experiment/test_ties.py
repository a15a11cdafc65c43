"""A claim is judged at every value that tuning cannot tell from the chosen one."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.measures.perplexity import Perplexity
from attnjax.evaluation.metric import ExactMatch
from attnjax.experiment import Ablation, AboveBest, BestOf, Claim, Difference, Value
from attnjax.experiment.estimands import RunMetrics
from attnjax.experiment.looks import Looks
from attnjax.experiment.ties import at_ties
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


def test_a_tied_rate_at_which_networks_have_not_learnt_is_named_and_turns_nothing():
    learnt = Claim(text="", estimand=GAIN.estimand, low=0.5, given=Value("x", "b") >= 0.5)
    rates = tied("b", at_2=[0.1, 0.2, 0.3]) | tied("a", at_3=[2.0, 2.2, 1.9])
    verdict = ABLATION.judge(learnt, CHOSEN, rates)
    assert (verdict.verdict, verdict.untrained_at) == ("reproduced", ("b at 0.002",))
    # p is that of rates at which they have
    also = ABLATION.judge(learnt, CHOSEN, tied("a", at_3=[2.0, 2.2, 1.9]))
    assert verdict.p == also.p
    # a verdict that another rate turns still depends on it
    more = tied("b", at_2=[0.1, 0.2, 0.3], at_4=[3.0, 3.1, 2.8])
    assert ABLATION.judge(learnt, CHOSEN, more).verdict == "depends on the rate"
    # where those of the chosen rate have not learnt, and others have, no rate speaks for all
    high = Claim(text="", estimand=GAIN.estimand, low=0.5, given=Value("x", "b") >= 1.2)
    verdict = ABLATION.judge(high, CHOSEN, tied("b", at_2=[1.3, 1.4, 1.25]))
    assert verdict.verdict == "depends on the rate"
    assert verdict.reason.startswith("it is not trained at the chosen values and ")
    assert verdict.untrained_at == ()


@pytest.mark.parametrize("there", [{}, {"at_2": [1.0, 1.1]}])
def test_a_claim_waits_for_the_seeds_at_tied_values(there):
    missing = tied("b", **there) if there else {"b": {(0.002,): {}}}
    verdict = ABLATION.judge(GAIN, CHOSEN, missing)
    assert verdict.verdict == "not judged yet"
    assert verdict.reason == "not all planned seeds were trained with b at 0.002"


def test_ties_of_other_variants_do_not_matter():
    verdict = ABLATION.judge(GAIN, CHOSEN, tied("c", at_2=[9.0, 9.1, 9.2]))
    assert (verdict.verdict, verdict.combinations) == ("reproduced", 1)


def one_by_one(ablation, claim, results, tied):
    """The verdict by the text of `at_ties`, at each of all combinations."""
    names = [name for name in claim.variants if tied.get(name)]
    verdicts = []
    for values in product(*([(), *tied[name]] for name in names)):
        chosen = dict(zip(names, values, strict=True))
        at = {name: tied[name][point] for name, point in chosen.items() if point}
        verdicts.append(ablation.judge(claim, {**results, **at}))
    words = ["not judged yet" if verdict is None else verdict.verdict for verdict in verdicts]
    if words[0] == "not judged yet":
        return "not judged yet", None, 1
    # networks that have not learnt at a tied value say nothing of the claim
    kept = [place for place, word in enumerate(words) if word in ("not trained", words[0])]
    other = next((word for place, word in enumerate(words) if place not in kept), "")
    if words[0] == "not trained":
        other = next((word for word in words if word != "not trained"), "")
    if other:
        return other if other == "not judged yet" else "depends on the rate", None, 1
    every = [verdicts[place].p for place in kept if words[place] == words[0]]
    return words[0], None if None in every else max(every), len(verdicts)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("looks", [(), (3, 4)])
def test_the_best_at_ties_is_judged_as_at_each_combination(lower, looks):
    """Rows that diverge or lack seeds are among the draws, and every kind of verdict comes out."""
    rng, names = np.random.default_rng(0), "abcd"
    scored = replace(base, metric=ExactMatch(), measures=(Perplexity(),))
    key = MetricKey("perplexity" if lower else "exact_match")
    ablation = Ablation(base=scored, variants=dict.fromkeys(names, scored), seeds=3, looks=looks)
    estimand, seen = AboveBest(key, "a", tuple("bcd")), dict[str, int]()
    for draw in range(24):

        def drawn(name, scale=0.02 if draw % 2 else 0.1):
            values = rng.choice([0.3, 0.5, 0.6]) + (name == "a") * 0.1 + scale * rng.random(4)
            if rng.random() < 0.05:
                values[rng.integers(4)] = np.nan
            seeds = range(int(rng.choice([2, 3, 4], p=[0.02, 0.1, 0.88])))
            return {seed: RunMetrics({key: values[seed]}) for seed in seeds}

        results = {name: drawn(name) for name in names}
        tied = {
            name: {
                (float(at),): drawn(name)
                for at in range(1, 1 + rng.integers(1, 3 if name == "b" else 2))
            }
            for name in names
        }
        given = (None, Value(key, "c") >= 0.4, BestOf(key, ("b", "d")) >= 0.4)[draw % 3]
        low = float(rng.choice([-0.2, -0.05, 0.5]))
        claim = Claim(text="", estimand=estimand, low=low, given=given)
        verdict = ablation.judge(claim, results, tied)
        wanted, p, combinations = one_by_one(ablation, claim, results, tied)
        found = "not judged yet" if verdict is None else verdict.verdict
        assert found == wanted
        seen[found] = seen.get(found, 0) + 1
        if verdict is not None:
            assert (verdict.p, verdict.combinations) == (p, combinations)
    assert seen.keys() >= {"reproduced", "not reproduced", "not judged yet", "depends on the rate"}


def test_the_best_of_many_tied_rows_is_judged_once_for_each_that_can_be_it():
    """2^24 combinations are of at most 24 x 2 best rows; each is judged, and the count is whole."""
    names = [f"row{number}" for number in range(24)]
    ablation = Ablation(base=base, variants=dict.fromkeys(["mine", *names], base), seeds=3)
    rng = np.random.default_rng(1)
    results = runs(mine=[2.0, 2.1, 1.9], **{name: [*rng.random(3)] for name in names})
    ties = {name: runs(at=[*rng.random(3)])["at"] for name in names}
    claim = Claim(text="", estimand=AboveBest("x", "mine", tuple(names)), low=0.5)
    judged = []

    class Counted(Looks):
        def judge(self, results):
            judged.append(results)
            return super().judge(results)

    looks = Counted(claim=claim, variants=ablation.variants, planned=[range(3)])
    tied = {name: {(0.1,): of} for name, of in ties.items()}
    verdict = at_ties(looks, results, tied)
    assert (verdict.verdict, verdict.combinations) == ("reproduced", 2**24)
    assert 1 < len(judged) <= 48
