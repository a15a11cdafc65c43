"""BLEU and exact match, by hand."""

import math
import subprocess
import sys

import numpy as np
import pytest

from attnjax.errors import UserError
from attnjax.evaluation.accuracy import exact_match
from attnjax.evaluation.bleu import MULTI_BLEU, SACREBLEU

HYPOTHESES = ["a man rides a brown horse .", "the dog runs fast"]
REFERENCES = ["a man rides a horse .", "the dog is running fast today"]
# n-grams of the hypotheses found in their reference, and all of them, counted by hand:
# 1: "a man rides a horse ." + "the dog fast"; 2: "a man", "man rides", "rides a", "horse ."
# + "the dog"; 3: "a man rides", "man rides a"; 4: "a man rides a"
MATCHES, TOTALS = [6 + 3, 4 + 1, 2, 1], [7 + 4, 6 + 3, 5 + 2, 4 + 1]


def by_hand() -> float:
    brevity = math.exp(1 - 12 / 11)
    precisions = [m / t for m, t in zip(MATCHES, TOTALS, strict=True)]
    return 100 * brevity * math.prod(precisions) ** 0.25


def test_tokenised_bleu_is_the_papers_formula():
    score = MULTI_BLEU.score(HYPOTHESES, REFERENCES)
    assert score.value == pytest.approx(by_hand(), abs=1e-9)
    assert score.detail == (
        f"BLEU4 = {by_hand():.2f}, 81.8/55.6/28.6/20.0 (BP=0.913, syslen=11, reflen=12)"
    )
    assert "tok:none" in score.signature
    assert "version:" in score.signature


def test_protocols_differ_where_they_should():
    # punctuation stands apart for 13a only, and case counts in both
    plain, reference = ["The dog runs, fast now."], ["The dog runs , fast now ."]
    assert SACREBLEU.score(plain, reference).value == pytest.approx(100)
    assert MULTI_BLEU.score(plain, reference).value < 50
    assert SACREBLEU.score(["the dog runs, fast now."], reference).value < 100
    assert "case:mixed" in SACREBLEU.score(plain, reference).signature
    assert "tok:13a" in SACREBLEU.score(plain, reference).signature
    # no 4-gram in common: multi-bleu gives 0, sacrebleu smooths
    assert MULTI_BLEU.score(["a b c x d"], ["a b c d y"]).value == 0
    assert 0 < SACREBLEU.score(["a b c x d"], ["a b c d y"]).value < 50


@pytest.mark.parametrize("protocol", [SACREBLEU, MULTI_BLEU], ids=["13a", "none"])
def test_a_corpus_is_the_sum_of_its_sentences(protocol):
    statistics = protocol.statistics(HYPOTHESES, REFERENCES)
    assert statistics.sum(0).tolist() == [11, 12, *MATCHES, *TOTALS]
    assert protocol.value(statistics.sum(0)) == pytest.approx(
        protocol.score(HYPOTHESES, REFERENCES).value
    )
    np.testing.assert_array_equal(statistics[:, 0], [7, 4])


def test_exact_match():
    assert exact_match(["a b", "c", "d"], ["a b", "c ", "d"]) == pytest.approx(2 / 3)
    assert exact_match([""], [""]) == 1.0


@pytest.mark.parametrize(
    "measure", [SACREBLEU.score, MULTI_BLEU.score, exact_match, SACREBLEU.statistics]
)
def test_what_cannot_be_compared_is_refused(measure):
    with pytest.raises(UserError, match="got 2 hypotheses and 3 references"):
        measure(["a", "b"], ["a", "b", "c"])
    with pytest.raises(UserError, match="got none"):
        measure([], [])


def test_importing_the_module_loads_no_sacrebleu():
    program = "import sys, attnjax.evaluation.bleu; sys.exit('sacrebleu' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
