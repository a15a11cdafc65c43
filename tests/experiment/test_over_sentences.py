"""Differences of answers' scores hold for other seeds and for other sentences."""

import math

import numpy as np
import pytest

from attnjax.errors import UserError
from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.metric import ExactMatch
from attnjax.evaluation.sentence_stats import Sentences, sentences
from attnjax.experiment.claims import Claim
from attnjax.experiment.estimands import Difference, Results, RunMetrics
from attnjax.experiment.trend import LengthGain
from tests.experiment.test_claims import runs

TOKENIZED = Bleu(tokenize="none", smooth="none")
LENGTHS = np.random.default_rng(0).permutation(np.repeat(np.arange(5, 25), 10))


def system(seed: int, short: float, long: float) -> Sentences:
    """Bigrams, ... of sentences of LENGTHS, right with a probability that depends on the length."""
    generator = np.random.default_rng(seed)
    right = np.where(LENGTHS >= 20, long, short)
    totals = LENGTHS[:, None] - np.arange(4)
    matches = generator.binomial(totals, right[:, None] ** np.arange(1, 5))
    statistics = np.column_stack([LENGTHS, LENGTHS, matches, totals])
    return Sentences(metric=TOKENIZED, lengths=LENGTHS, statistics=statistics)


def answered(**columns: list[Sentences]) -> Results:
    return {
        name: {
            seed: RunMetrics({one.metric.key: one.value()}, one) for seed, one in enumerate(column)
        }
        for name, column in columns.items()
    }


def test_an_advantage_on_long_sentences_is_found_and_none_is_not():
    gain = LengthGain(metric="bleu", better="attention", worse="fixed")
    claim = Claim(text="Long sentences gain most.", estimand=gain, low=0.0)
    attention = [system(seed, short=0.8, long=0.8) for seed in (0, 1, 2)]
    worse = [system(seed, short=0.75, long=0.6) for seed in (3, 4, 5)]
    alike = [system(seed, short=0.75, long=0.75) for seed in (3, 4, 5)]
    found = claim.judge(answered(attention=attention, fixed=worse))
    assert found.verdict == "reproduced"
    found = claim.judge(answered(attention=attention, fixed=alike))
    assert found.verdict == "undecided"
    assert found.low < 0 < found.high
    turned = Claim(
        text="", estimand=LengthGain(metric="bleu", better="fixed", worse="attention"), low=0.0
    )
    assert turned.judge(answered(attention=attention, fixed=worse)).verdict == "not reproduced"
    # better on all sentences alike is a difference, and no gain by length
    difference = Difference(metric="bleu", better="attention", worse="fixed")
    both = Claim(text="", estimand=difference, low=0.0)
    assert both.judge(answered(attention=attention, fixed=alike)).verdict == "reproduced"


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
    # the quartiles: the two of one word, and those of five and of six
    parts = {"shortest": (0, 6), "longest": (4, 5)}

    def gain(better: list[str], worse: list[str]) -> float:
        values = {
            name: [
                TOKENIZED.score([side[i] for i in places], [REFERENCES[i] for i in places])
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
        return sentences(TOKENIZED, hypotheses, REFERENCES, lengths)

    results = answered(a=[run(BETTER), run(WORSE)], b=[run(WORSE), run(REFERENCES)])
    interval = LengthGain(metric="bleu", better="a", worse="b").interval(results)
    assert interval is not None
    expected = (gain(BETTER, WORSE) + gain(WORSE, REFERENCES)) / 2
    assert interval.estimate == pytest.approx(expected)
    assert interval.low < interval.estimate < interval.high


def exact(right: np.ndarray) -> Sentences:
    return Sentences(
        metric=ExactMatch(),
        lengths=np.arange(len(right)),
        statistics=np.stack([right, np.ones_like(right)], axis=1),
    )


def test_all_seeds_and_both_variants_have_the_same_sentences():
    even = np.arange(80) % 2
    nothing = exact(np.zeros_like(even))
    difference = Difference(metric="exact_match", better="a", worse="b")
    # each sample has as many of the odd ones as of the even ones it lacks
    results = answered(a=[exact(even), exact(1 - even)], b=[nothing] * 2)
    spread = difference.over_sentences(results)
    assert spread.basis == "seeds and sentences"
    assert spread.at(0.95) == (0.5, 0.5, 0.5)
    fewer = answered(a=[exact(even)] * 2, b=[nothing, exact(even[:9])])
    assert difference.over_sentences(fewer) is None


def test_a_difference_holds_for_other_sentences_by_default():
    generator = np.random.default_rng(2)
    hard = generator.uniform(0.3, 0.7, 200)

    def column(lift: float) -> list[Sentences]:
        draws = (generator.random(200) < hard + lift for _ in range(4))
        return [exact(drawn.astype(np.int64)) for drawn in draws]

    results = answered(a=column(0.1), b=column(0.0))
    claim = Claim(text="", estimand=Difference("exact_match", better="a", worse="b"), low=-1)
    judged = claim.judge(results)
    assert judged.basis == "seeds and sentences"
    seeds_alone = claim.judge(
        {
            name: {seed: RunMetrics(run.metrics) for seed, run in runs.items()}
            for name, runs in results.items()
        }
    )
    assert (seeds_alone.basis, seeds_alone.estimate) == ("seeds", judged.estimate)
    own = {
        name: {seed: run._replace(test_set=str(seed)) for seed, run in runs.items()}
        for name, runs in results.items()
    }
    assert claim.judge(own).basis == "seeds"
    # near 1 the answers of a seed count as alike, whatever the sentences
    sure = answered(a=[exact(np.ones(200, np.int64))] * 4, b=column(0.0))
    assert claim.judge(sure).basis == "seeds"


def test_a_difference_of_shares_on_the_same_sentences_lies_between_its_bounds():
    """Student's t of three seeds, one of which fails, would reach beyond 1."""
    places, ones = np.arange(200), [(0.9, 0.95, 0.3), (0.15, 0.1, 0.12)]
    a, b = ([exact((places < 200 * share).astype(np.int64)) for share in each] for each in ones)
    difference, results = Difference("exact_match", better="a", worse="b"), answered(a=a, b=b)
    plain, found = difference.over_sentences(results), difference.interval(results)
    assert plain is not None
    assert found is not None
    assert plain.at(0.95).high > 1 > found.high
    assert -1 < found.low < found.estimate == plain.at(0.95).estimate


def test_without_a_spread_over_seeds_the_interval_is_that_of_two_samples():
    generator = np.random.default_rng(1)
    right = np.where(np.arange(800) < 400, generator.random(800) < 0.8, generator.random(800) < 0.3)
    gain = LengthGain(metric="exact_match", better="a", worse="b", parts=2)
    one, other = exact(right.astype(np.int64)), exact(np.zeros(800, np.int64))
    found = gain.interval(answered(a=[one] * 3, b=[other] * 3))
    assert found is not None
    shortest, longest = right[:400], right[400:]
    half = 1.96 * math.sqrt((shortest.var() + longest.var()) / 400)
    assert found.estimate == pytest.approx(longest.mean() - shortest.mean())
    assert found.high - found.low == pytest.approx(2 * half, rel=0.1)


def test_seeds_that_differ_widen_the_interval_over_sentences():
    def interval(spread: float):
        better = [system(s, 0.8, 0.8 - s * spread) for s in (0, 1, 2)]
        results = answered(a=better, b=[system(s, 0.7, 0.6) for s in (3, 4, 5)])
        return LengthGain(metric="bleu", better="a", worse="b").interval(results)

    same, different = interval(0.0), interval(0.05)
    assert different.high - different.low > 2 * (same.high - same.low)


def test_what_was_not_decoded_is_not_judged_and_other_sentences_are_refused():
    gain = LengthGain(metric="bleu", better="a", worse="b")
    claim = Claim(text="", estimand=gain, low=0.0)
    one = system(0, 0.8, 0.8)
    for results in ({}, runs(a=[1.0], b=[1.0]), answered(a=[one])):
        assert claim.judge(results) is None
    wrong_metric = answered(a=[one], b=[exact(np.ones(len(LENGTHS), np.int64))])
    assert gain.interval(wrong_metric) is None
    fewer = one.at(np.arange(100))
    with pytest.raises(UserError, match="a and b cannot be compared by sentence"):
        claim.judge(answered(a=[one, one], b=[one, fewer]))
    shuffled = one.at(np.arange(len(LENGTHS))[::-1])
    with pytest.raises(UserError, match="a and b cannot be compared by sentence"):
        claim.judge(answered(a=[one], b=[shuffled]))
    # a plain difference of such scores is over seeds
    others = answered(a=[one, system(1, 0.8, 0.7)], b=[fewer, system(2, 0.7, 0.6).at(LENGTHS)])
    plain = Claim(text="", estimand=Difference("bleu", better="a", worse="b"), low=0.0)
    assert plain.judge(others).basis == "seeds"
