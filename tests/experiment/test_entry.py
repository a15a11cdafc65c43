"""Rows that are entered into a crossed ablation, and how far they are above the best."""

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from attnjax.config.vary import vary
from attnjax.config.walk import differences
from attnjax.errors import UserError
from attnjax.evaluation.measurement import MetricKey
from attnjax.experiment import (
    Ablation,
    AboveBest,
    BestOf,
    Claim,
    Crossing,
    Difference,
    crossed,
    enter,
)
from attnjax.experiment.estimands import RunMetrics
from attnjax.models import RecurrentCellMixer
from tests import tiny, tiny_arena

KEY = MetricKey("label_accuracy")
ARENA = tiny_arena.ablation
MIXER = {"model.layer.self_attention": RecurrentCellMixer()}


def measured(**values):
    """Runs of variants: a value for each seed, from 1 on."""
    return {
        name: {
            seed: RunMetrics({KEY: value}, shares=frozenset({"label_accuracy"}))
            for seed, value in enumerate(seeds, start=1)
        }
        for name, seeds in values.items()
    }


def test_variants_are_every_column_with_every_row():
    other = vary(tiny_arena.softmax, {"task.longest": 5})
    found = crossed({"short": tiny_arena.softmax, "long": other}, {"a": {}, "b": MIXER})
    assert list(found) == ["short-a", "short-b", "long-a", "long-b"]
    assert found["long-a"] == other
    assert found["short-b"] == vary(tiny_arena.softmax, MIXER)


def test_a_row_is_the_first_one_with_changes_and_two_claims_a_column():
    entered = enter(ARENA, "wide", {"model.layer.feed_forward.width": 16})
    assert list(entered.variants) == ["parity-wide", "parity-softmax", "parity-lstm"]
    found = differences(ARENA.variants["parity-softmax"], entered.variants["parity-wide"])
    assert list(found) == ["model.layer.feed_forward.width"]
    assert entered.crossing.rows == ("softmax", "lstm", "wide")
    assert entered.crossing.entered == ("wide",)
    above, best = entered.claims
    beyond = "label_accuracy_beyond"
    assert above.estimand == Difference(beyond, "parity-wide", "parity-softmax")
    assert best.estimand == AboveBest(beyond, "parity-wide", ("parity-softmax", "parity-lstm"))
    assert (above.low, best.low) == (0.02, -0.02)
    twice = enter(entered, "narrow", {"model.layer.feed_forward.width": 4})
    assert len(twice.claims) == 4
    assert twice.crossing.entered == ("wide", "narrow")
    assert twice.claims[3].estimand.others == ("parity-softmax", "parity-lstm", "parity-wide")


def test_what_cannot_be_entered_is_refused():
    with pytest.raises(UserError, match="the row 'lstm' is there already; rows: softmax, lstm"):
        enter(ARENA, "lstm", MIXER)
    with pytest.raises(UserError, match="an ablation that has a crossing; got one without"):
        enter(tiny.ablation, "mine", MIXER)
    with pytest.raises(UserError, match="model.layer.self_atention"):
        enter(ARENA, "mine", {"model.layer.self_atention.heads": 4})
    with pytest.raises(UserError, match="a row of a crossing has a name"):
        enter(ARENA, "", MIXER)
    there = {**ARENA.variants, "parity-mine": ARENA.variants["parity-lstm"]}
    with pytest.raises(UserError, match="has a variant parity-mine: give the row another name"):
        enter(replace(ARENA, variants=there), "mine", {"model.layer.feed_forward.width": 16})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rows": ()}, "at least one row and one column; got 0 rows and 1 columns"),
        ({"columns": {}}, "at least one row and one column; got 2 rows and 0 columns"),
        ({"rows": ("softmax", "nobody")}, "nobody of the crossing has no variant: .* parity-nobod"),
        ({"rows": ("softmax", "lstm", "softmax")}, "the row softmax stands in the crossing twice"),
        ({"rows": ("softmax", "")}, "a row of a crossing has a name"),
        ({"entered": ("lstn",)}, "unknown entered row of the crossing 'lstn'; did you mean lstm"),
        (
            {"columns": {"parity": ("label_acuracy",)}},
            "column parity: 'label_acuracy'; did you mean label_accuracy",
        ),
        ({"columns": {"parity": ("exact_match",)}}, "column parity: 'exact_match'"),
    ],
)
def test_a_crossing_that_its_ablation_does_not_have_is_refused(changes, said):
    with pytest.raises(UserError, match=said):
        replace(ARENA, crossing=replace(ARENA.crossing, **changes))


def test_a_crossing_may_show_the_metric_that_a_task_has_by_default():
    variants = {"copy-plain": tiny.base}
    crossing = Crossing(rows=("plain",), columns={"copy": ("exact_match",)})
    assert Ablation(base=tiny.base, variants=variants, crossing=crossing).crossing == crossing


def test_the_best_of_the_others_has_the_highest_mean_and_the_interval_is_that_of_the_two():
    runs = measured(mine=[0.7, 0.6, 0.8], low=[0.5, 0.99, 0.3], high=[0.6, 0.65, 0.7])
    estimand = AboveBest("label_accuracy", "mine", ("low", "high"))
    values = estimand.values(runs)
    np.testing.assert_allclose([values[seed] for seed in (1, 2, 3)], [0.1, -0.05, 0.1])
    pair = Difference("label_accuracy", "mine", "high")
    assert estimand.interval(runs) == pair.interval(runs)
    # without one of them nobody knows the best
    assert AboveBest("label_accuracy", "mine", ("low", "high", "absent")).interval(runs) is None


def test_of_what_less_is_better_the_best_is_the_lowest_and_what_diverged_is_the_worst():
    runs = measured(
        mine=[0.7, 0.6, 0.8],
        burst=[math.nan, 0.1, 0.1],
        low=[0.5, 0.4, 0.3],
        high=[0.6, 0.65, 0.7],
        beyond=[math.inf, 0.9, 0.9],
    )
    lower = {
        name: {seed: run._replace(lower=frozenset({KEY.name})) for seed, run in of.items()}
        for name, of in runs.items()
    }
    for others in permutations(["burst", "low", "high", "beyond"]):
        estimand, best = AboveBest(KEY, "mine", others), BestOf(KEY, others)
        assert estimand.values(runs) == Difference(KEY, "mine", "high").values(runs)
        assert estimand.values(lower) == Difference(KEY, "mine", "low").values(runs)
        assert best.values(runs) == {1: 0.6, 2: 0.9, 3: 0.9}
        assert best.values(lower) == {1: 0.5, 2: 0.1, 3: 0.1}
    failed = AboveBest(KEY, "mine", ("burst",)).values(runs)
    assert math.isnan(failed[1]), "a row that alone is compared with is the best, however bad"


def test_a_claim_about_the_best_waits_for_every_row():
    """Without the best row the verdict is that on another statement."""
    runs = measured(mine=[0.7, 0.72, 0.71], low=[0.5, 0.5, 0.4], high=[0.9, 0.91, 0.9])
    claim = Claim(text="", estimand=AboveBest(KEY, "mine", ("low", "high")), low=-0.02)
    assert claim.judge(runs, (1, 2, 3)).verdict == "not reproduced"
    for there in ([], [1], [1, 2]):
        few = {**runs, "high": {seed: runs["high"][seed] for seed in there}}
        verdict = claim.judge(few, (1, 2, 3))
        if there:
            assert verdict.verdict == "not judged yet"
            assert verdict.reason == f"there are {len(there)} of 3 planned seeds of high"
            assert verdict.p is None
        else:
            assert verdict is None


def test_a_claim_about_the_best_is_judged():
    runs = measured(mine=[0.99, 0.99, 0.98], low=[0.5, 0.5, 0.4], high=[0.6, 0.61, 0.7])
    estimand = AboveBest("label_accuracy", "mine", ("low", "high"))
    claim = Claim(text="At the top.", estimand=estimand, low=-0.02)
    assert claim.judge(runs, (1, 2, 3)).verdict == "reproduced"
    assert claim.judge(runs, (1, 2, 3, 4)).verdict == "not judged yet"


def test_a_task_of_labels_and_another_model_are_refused_and_the_reverse():
    labels, text = tiny_arena.softmax, tiny.base
    with pytest.raises(UserError, match="a Parity asks for labels at places .* a Transformer"):
        replace(text, task=labels.task, metric=None, measures=()).resolve(labels.task.load())
    with pytest.raises(UserError, match="a Labeler gives labels at places .* a Copy asks for none"):
        replace(labels, task=text.task).resolve(text.task.load())
