import math

import pytest

from attnjax.attention.position import Learned
from attnjax.claim import Claim, Difference, Slope, Value
from attnjax.data.tasks import Copy
from attnjax.errors import UserError
from attnjax.experiment import Ablation, Experiment, Published
from attnjax.models.transformer import Transformer

BASE = Experiment(task=Copy(train=20, valid=4, test=4, longest=5), model=Transformer(width=16))


def runs(**columns: list[float]) -> dict:
    """variant: its metric "x" by seed."""
    return {
        name: {seed: {"x": value} for seed, value in enumerate(column)}
        for name, column in columns.items()
    }


# t(0.975; 4) = 2.776: the interval of 0, 1, 2, 3, 4 is 2 +- 1.963
FIVE = runs(a=[0, 1, 2, 3, 4], b=[1.0] * 5)


@pytest.mark.parametrize(
    "low, high, verdict",
    [
        (0.0, 4.0, "reproduced"),
        (-math.inf, 3.97, "reproduced"),
        (-math.inf, 3.96, "undecided"),
        (0.03, math.inf, "reproduced"),
        (0.04, math.inf, "undecided"),
        (3.96, math.inf, "undecided"),
        (3.97, math.inf, "not reproduced"),
        (-1.0, 0.03, "not reproduced"),
        (1.9, 2.1, "undecided"),
    ],
)
def test_the_verdict_is_where_the_interval_lies(low, high, verdict):
    found = Claim(text="", quantity=Value("x", "a"), low=low, high=high).judge(FIVE)
    assert found.verdict == verdict
    assert found.estimate == 2
    assert found.high - found.low == pytest.approx(2 * 2.776 * math.sqrt(2.5 / 5), rel=1e-3)


def test_a_difference_is_paired_by_seed():
    # 100 is in both of a seed: unpaired, the interval would be wide
    results = {
        "a": {0: {"x": 101.0}, 1: {"x": 1.1}, 2: {"x": 0.9}, 9: {"x": 7.0}},
        "b": {2: {"x": 0.0}, 1: {"x": 0.0}, 0: {"x": 100.0}, 3: {"y": 1.0}},
    }
    quantity = Difference("x", better="a", worse="b")
    assert quantity.values(results) == pytest.approx([1.0, 1.1, 0.9])
    assert (
        Claim(text="", quantity=quantity, low=0.5, high=1.5).judge(results).verdict == "reproduced"
    )


def test_a_slope_is_the_exponent_of_each_seed():
    over = (("narrow", 16), ("middle", 64), ("wide", 1024))
    results = {
        name: {0: {"x": 3 * width**1.5}, 1: {"x": 7 * width**0.5}, 2: {"x": 0.0}}
        for name, width in over
    }
    values = Slope("x", over=over).values(results)
    assert values[:2] == pytest.approx([1.5, 0.5])
    assert math.isnan(values[2])
    undecided = Claim(text="", quantity=Slope("x", over=over), low=0.9).judge(results)
    assert undecided.verdict == "undecided"
    assert undecided.estimate is None


@pytest.mark.parametrize("results", [{}, runs(a=[1.0]), {"a": {0: {"y": 1.0}, 1: {"y": 1.0}}}])
def test_without_two_seeds_nothing_is_decided(results):
    claim = Claim(text="", quantity=Value("x", "a"), low=-100, high=100)
    assert claim.judge(results).verdict == "undecided"


def test_what_an_ablation_names_must_be_there():
    claim = Claim(text="", quantity=Value("x", "unscald"), low=0)
    figure = Published(paper="", table="", variant="unscald", metric="x", value=0)
    for wrong in ({"claims": (claim,)}, {"published": (figure,)}):
        with pytest.raises(UserError, match="no variant 'unscald'; did you mean unscaled"):
            Ablation(base=BASE, variants={"unscaled": BASE}, **wrong)
    with pytest.raises(UserError, match="at least one variant"):
        Ablation(base=BASE, variants={})
    with pytest.raises(UserError, match="at least 1 seed"):
        Ablation(base=BASE, variants={"a": BASE}, seeds=0)
    with pytest.raises(UserError, match="a folder's"):
        Ablation(base=BASE, variants={"../a": BASE})
    with pytest.raises(UserError, match="low must be below"):
        Claim(text="", quantity=Value("x", "a"), low=1, high=0)
    with pytest.raises(UserError, match="two different positive widths"):
        Slope("x", over=(("a", 16), ("b", 16)))


def test_resolving_fills_the_vocabulary_and_checks_the_lengths():
    corpus = BASE.task.load()
    resolved = BASE.resolve(corpus)
    assert resolved.model.vocabulary == corpus.vocabulary.size
    assert BASE.model.vocabulary is None
    longest = max(len(e.source) for split in corpus.splits.values() for e in split)
    enough = Experiment(task=BASE.task, model=Transformer(position=Learned(length=longest)))
    enough.resolve(corpus)
    short = Experiment(task=BASE.task, model=Transformer(position=Learned(length=longest - 1)))
    split, number = next(
        (split, number)
        for split, examples in corpus.splits.items()
        for number, example in enumerate(examples, start=1)
        if len(example.source) == longest
    )
    with pytest.raises(UserError) as error:
        short.resolve(corpus)
    assert f"sentence {number} of the {split} split has {longest} symbols" in str(error.value)
    assert f"{longest - 1} positions (model.position.length)" in str(error.value)
