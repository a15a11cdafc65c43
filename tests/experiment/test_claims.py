import math

import numpy as np
import pytest

from attnjax.data.vocabulary import SplitWords
from attnjax.errors import UserError
from attnjax.evaluation.bleu import MULTI_BLEU
from attnjax.evaluation.sentence_stats import Sentences, sentences
from attnjax.experiment.claims import Claim, gains
from attnjax.experiment.estimands import (
    Difference,
    LengthGain,
    Results,
    RunMetrics,
    SentenceDifference,
    Slope,
    Value,
)


def runs(**columns: list[float]) -> Results:
    """variant: its metric "x" by seed."""
    return {
        name: {seed: RunMetrics({"x": value}) for seed, value in enumerate(column)}
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
        "a": {seed: RunMetrics({"x": x}) for seed, x in {0: 101.0, 1: 1.1, 2: 0.9, 9: 7.0}.items()},
        "b": {seed: RunMetrics({"x": x}) for seed, x in {2: 0.0, 1: 0.0, 0: 100.0}.items()}
        | {3: RunMetrics({"y": 1.0})},
    }
    quantity = Difference("x", better="a", worse="b")
    assert quantity.values(results) == pytest.approx([1.0, 1.1, 0.9])
    assert (
        Claim(text="", quantity=quantity, low=0.5, high=1.5).judge(results).verdict == "reproduced"
    )


def test_a_slope_is_the_exponent_of_each_seed():
    over = (("narrow", 16), ("middle", 64), ("wide", 1024))
    results = runs(**{name: [3 * width**1.5, 7 * width**0.5, 0.0] for name, width in over})
    values = Slope("x", over=over).values(results)
    assert values[:2] == pytest.approx([1.5, 0.5])
    assert math.isnan(values[2])
    undecided = Claim(text="", quantity=Slope("x", over=over), low=0.9).judge(results)
    assert undecided.verdict == "undecided"
    assert undecided.estimate is None
    with pytest.raises(UserError, match="two different widths|above 0"):
        Slope("x", over=(("a", 16), ("b", 16)))


def test_without_two_seeds_nothing_is_decided_and_without_a_figure_nothing_judged():
    claim = Claim(text="", quantity=Value("x", "a"), low=-100, high=100)
    assert claim.judge(runs(a=[1.0])).verdict == "undecided"
    for results in ({}, {"a": {0: RunMetrics({"y": 1.0})}}):
        assert claim.judge(results) is None


def test_gains_are_of_the_better_over_the_worse():
    (claim,) = gains("bleu", {"it helps": ("with", "without")}, low=0.5)
    assert (claim.text, claim.low) == ("it helps", 0.5)
    assert claim.quantity == Difference("bleu", better="with", worse="without")


def test_a_region_has_a_low_end_and_a_high_one():
    with pytest.raises(UserError, match="low must be below"):
        Claim(text="", quantity=Value("x", "a"), low=1, high=0)


LENGTHS = np.random.default_rng(0).permutation(np.repeat(np.arange(5, 25), 10))


def system(seed: int, short: float, long: float) -> Sentences:
    """Bigrams, ... of sentences of LENGTHS, right with a probability that depends on the length."""
    generator = np.random.default_rng(seed)
    right = np.where(LENGTHS >= 20, long, short)
    totals = LENGTHS[:, None] - np.arange(4)
    matches = generator.binomial(totals, right[:, None] ** np.arange(1, 5))
    statistics = np.column_stack([LENGTHS, LENGTHS, matches, totals])
    return Sentences(metric="bleu", protocol=MULTI_BLEU, lengths=LENGTHS, statistics=statistics)


def answered(**columns: list[Sentences]) -> Results:
    return {
        name: {seed: RunMetrics({}, one) for seed, one in enumerate(column)}
        for name, column in columns.items()
    }


def test_an_advantage_on_long_sentences_is_found_and_none_is_not():
    quantity = LengthGain(better="attention", worse="fixed")
    claim = Claim(text="Long sentences gain most.", quantity=quantity, low=0.0)
    attention = [system(seed, short=0.8, long=0.8) for seed in (0, 1, 2)]
    worse = [system(seed, short=0.75, long=0.6) for seed in (3, 4, 5)]
    alike = [system(seed, short=0.75, long=0.75) for seed in (3, 4, 5)]
    found = claim.judge(answered(attention=attention, fixed=worse))
    assert found.verdict == "reproduced"
    found = claim.judge(answered(attention=attention, fixed=alike))
    assert found.verdict == "undecided"
    assert found.low < 0 < found.high
    turned = Claim(text="", quantity=LengthGain(better="fixed", worse="attention"), low=0.0)
    assert turned.judge(answered(attention=attention, fixed=worse)).verdict == "not reproduced"
    # better on all sentences alike is a difference, and no gain by length
    difference = SentenceDifference(better="attention", worse="fixed")
    both = Claim(text="", quantity=difference, low=0.0)
    assert both.judge(answered(attention=attention, fixed=alike)).verdict == "reproduced"


def test_one_seed_is_enough_for_sentences():
    claim = Claim(text="", quantity=LengthGain(better="a", worse="b"), low=0.0)
    found = claim.judge(answered(a=[system(0, 0.8, 0.8)], b=[system(1, 0.8, 0.5)]))
    assert found.verdict == "reproduced"


SOURCES = ["one", "a b", "a b c", "a b c d", "a b c d e", "a b c d e f", "g", "h i"]
REFERENCES = ["the cat sat on it", "a dog ran to it", "it was the end of it all"] * 2 + [
    "he is in the house",
    "she is in the garden",
]
BETTER = ["the cat sat on it", "a dog ran to him", "it was the end of it all"] * 2 + REFERENCES[6:]
WORSE = (
    ["the cat sat on me", "a dog ran to him", "it was the end of them"]
    + REFERENCES[3:5]
    + [
        "it was not the end of it all",
        "he is in the yard",
        "she is in the garden",
    ]
)


def test_the_gain_is_of_the_corpus_bleu_of_each_part():
    lengths = [len(source.split()) for source in SOURCES]
    vocabulary = SplitWords().learn(REFERENCES)
    # the quartiles: the two of one word, and those of five and of six
    parts = {"shortest": (0, 6), "longest": (4, 5)}

    def gain(better: list[str], worse: list[str]) -> float:
        values = {
            name: [
                MULTI_BLEU.score([side[i] for i in places], [REFERENCES[i] for i in places]).value
                for side in (better, worse)
            ]
            for name, places in parts.items()
        }
        return (
            values["longest"][0]
            - values["longest"][1]
            - (values["shortest"][0] - values["shortest"][1])
        )

    def run(hypotheses: list[str]) -> Sentences:
        return sentences("bleu", vocabulary, hypotheses, REFERENCES, lengths)

    results = answered(a=[run(BETTER), run(WORSE)], b=[run(WORSE), run(REFERENCES)])
    interval = LengthGain(better="a", worse="b").interval(results)
    assert interval is not None
    expected = (gain(BETTER, WORSE) + gain(WORSE, REFERENCES)) / 2
    assert interval.estimate == pytest.approx(expected)
    assert interval.low < interval.estimate < interval.high


def exact(right: np.ndarray) -> Sentences:
    return Sentences(
        metric="exact_match",
        protocol=None,
        lengths=np.arange(len(right)),
        statistics=np.stack([right, np.ones_like(right)], axis=1),
    )


def test_all_seeds_and_both_variants_have_the_same_sentences():
    even = np.arange(80) % 2
    nothing = exact(np.zeros_like(even))
    difference = SentenceDifference(metric="exact_match", better="a", worse="b")
    # each sample has as many of the odd ones as of the even ones it lacks
    seeds = answered(a=[exact(even), exact(1 - even)], b=[nothing, nothing])
    assert difference.interval(seeds) == (0.5, 0.5, 0.5)
    same = answered(a=[exact(even)], b=[exact(even)])
    assert difference.interval(same) == (0, 0, 0)


def test_the_interval_is_the_normal_one_of_two_samples():
    generator = np.random.default_rng(1)
    right = np.where(np.arange(800) < 400, generator.random(800) < 0.8, generator.random(800) < 0.3)
    quantity = LengthGain(metric="exact_match", better="a", worse="b", parts=2)
    found = quantity.interval(
        answered(a=[exact(right.astype(np.int64))], b=[exact(np.zeros(800, np.int64))])
    )
    assert found is not None
    shortest, longest = right[:400], right[400:]
    half = 1.96 * math.sqrt((shortest.var() + longest.var()) / 400)
    assert found.estimate == pytest.approx(longest.mean() - shortest.mean())
    assert found.high - found.low == pytest.approx(2 * half, rel=0.1)


def test_what_was_not_decoded_is_not_judged_and_other_sentences_are_refused():
    quantity = LengthGain(better="a", worse="b")
    claim = Claim(text="", quantity=quantity, low=0.0)
    one = system(0, 0.8, 0.8)
    for results in ({}, runs(a=[1.0], b=[1.0]), answered(a=[one])):
        assert claim.judge(results) is None
    wrong_metric = answered(a=[one], b=[exact(np.ones(len(LENGTHS), np.int64))])
    assert quantity.interval(wrong_metric) is None
    fewer = one.at(np.arange(100))
    with pytest.raises(UserError, match="a and b cannot be compared by sentence"):
        claim.judge(answered(a=[one, one], b=[one, fewer]))
    shuffled = one.at(np.arange(len(LENGTHS))[::-1])
    with pytest.raises(UserError, match="a and b cannot be compared by sentence"):
        claim.judge(answered(a=[one], b=[shuffled]))


def test_records_name_all_that_an_interval_depends_on():
    assert LengthGain(better="a", worse="b", parts=3).record() == {
        "kind": "length_gain",
        "metric": "bleu",
        "better": "a",
        "worse": "b",
        "interval": "sentences",
        "parts": 3,
    }
    assert SentenceDifference(better="a", worse="b").record()["kind"] == "sentence_difference"
    assert Difference("x", better="a", worse="b").variants == ("a", "b")
