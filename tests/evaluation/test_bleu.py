"""BLEU by hand, and its protocols."""

import math
import subprocess
import sys

import numpy as np
import pytest

from attnjax.evaluation.bleu import Bleu

TOKENIZED = Bleu(tokenize="none", smooth="none")
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


def test_tokenized_bleu_is_the_papers_formula():
    assert TOKENIZED.score(HYPOTHESES, REFERENCES) == pytest.approx(by_hand(), abs=1e-9)


def test_details_say_how_the_score_was_made():
    totals = TOKENIZED.statistics(HYPOTHESES, REFERENCES).sum(0)
    details = TOKENIZED.details(totals)
    assert details["detail"] == (
        f"BLEU4 = {by_hand():.2f}, 81.8/55.6/28.6/20.0 (BP=0.913, syslen=11, reflen=12)"
    )
    assert details["signature"].startswith(
        "nrefs:1|case:mixed|eff:no|tok:none|smooth:none|version:"
    )
    assert "tok:13a" in Bleu().details(totals)["signature"]


def test_protocols_differ_where_they_should():
    # punctuation stands apart for 13a only, and case counts in both
    plain, reference = ["The dog runs, fast now."], ["The dog runs , fast now ."]
    assert Bleu().score(plain, reference) == pytest.approx(100)
    assert TOKENIZED.score(plain, reference) < 50
    assert Bleu().score(["the dog runs, fast now."], reference) < 100
    # no 4-gram in common: multi-bleu gives 0, sacrebleu smooths
    assert TOKENIZED.score(["a b c x d"], ["a b c d y"]) == 0
    assert 0 < Bleu().score(["a b c x d"], ["a b c d y"]) < 50


@pytest.mark.parametrize("metric", [Bleu(), TOKENIZED], ids=["13a", "none"])
def test_a_corpus_is_the_sum_of_its_sentences(metric):
    from sacrebleu.metrics.bleu import BLEU

    statistics = metric.statistics(HYPOTHESES, REFERENCES)
    assert statistics.sum(0).tolist() == [11, 12, *MATCHES, *TOTALS]
    np.testing.assert_array_equal(statistics[:, 0], [7, 4])
    whole = BLEU(tokenize=metric.tokenize, smooth_method=metric.smooth, force=True)
    expected = whole.corpus_score(HYPOTHESES, [REFERENCES]).score
    assert metric.value(statistics.sum(0)) == pytest.approx(expected)


@pytest.mark.long
def test_importing_the_module_loads_no_sacrebleu():
    program = "import sys, attnjax.evaluation.bleu; sys.exit('sacrebleu' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
