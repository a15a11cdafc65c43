"""Every metric is a function of sums over sentences."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from attnjax.errors import UserError
from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.metric import Accuracy, ChrF, ExactMatch, Metric, check_metric

METRICS = [ExactMatch(), Accuracy(), ChrF(), ChrF(order=2, beta=1.0), Bleu()]
HYPOTHESES = ["the cat sat on the mat", "a dog", "", "it was the end of it all"]
REFERENCES = ["the cat sat on a mat", "a dog ran", "he", "it was the end of it all"]


def test_exact_match_is_the_share_of_equal_answers():
    assert ExactMatch().score(["a b", "c", "d"], ["a b", "c ", "d"]) == pytest.approx(2 / 3)
    assert ExactMatch().score([""], [""]) == 1.0


def test_accuracy_counts_words_at_their_place():
    # right: 5 of 6; 2 of 3, one is missing; 0 of 1; 7 of 7
    assert Accuracy().score(HYPOTHESES, REFERENCES) == pytest.approx((5 + 2 + 0 + 7) / 17)
    assert (
        Accuracy().score(["10\u00a0000 b"], ["10\u00a0000 c"]) == 0.5
    )  # two words, as in training
    assert Accuracy().score(["a b c"], ["a"]) == pytest.approx(1 / 3)
    assert Accuracy().score([""], [""]) == 1.0


# few letters, so that answers and references have n-grams in common; spaces are left out
TEXT = st.text("ab é😀\u00a0", max_size=9) | st.text(max_size=3)


@pytest.mark.parametrize("order, beta", [(6, 2), (3, 1)])
@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5))
def test_chrf_is_sacrebleus(order, beta, pairs):
    from sacrebleu.metrics.chrf import CHRF

    hypotheses, references = map(list, zip(*pairs, strict=True))
    expected = CHRF(char_order=order, beta=beta).corpus_score(hypotheses, [references]).score
    found = ChrF(order=order, beta=float(beta)).score(hypotheses, references)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_the_score_of_repeated_sentences_is_that_of_repeated_rows(metric: Metric):
    places = [0, 3, 3, 1]
    statistics = metric.statistics(HYPOTHESES, REFERENCES)
    assert len(statistics) == 4
    texts = [[side[place] for place in places] for side in (HYPOTHESES, REFERENCES)]
    assert metric.value(statistics[places].sum(0)) == pytest.approx(metric.score(*texts))


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_texts_without_a_partner_are_refused(metric: Metric):
    with pytest.raises(UserError, match="got 2 hypotheses and 3 references"):
        metric.score(["a", "b"], ["a", "b", "c"])
    with pytest.raises(UserError, match="got none"):
        metric.score([], [])
    for texts in (("a b", "a b"), ("a b", ["a b"]), (["a b"], "a b")):
        with pytest.raises(UserError, match="a list of texts with a list of references; got 'a b'"):
            metric.score(*texts)


def test_a_metric_without_its_methods_cannot_be_made():
    class Half(Metric):
        name = "half"

        def statistics(self, hypotheses, references):
            return np.ones((len(references), 1))

    with pytest.raises(TypeError, match="value"):
        Half()  # pyright: ignore


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_metrics_of_attnjax_pass_their_trial(metric: Metric):
    check_metric(metric, REFERENCES[0])


class Flat(ExactMatch):
    def statistics(self, hypotheses, references):
        return super().statistics(hypotheses, references)[:, 0]


class Listed(ExactMatch):
    def statistics(self, hypotheses, references):
        return super().statistics(hypotheses, references).tolist()


class Raising(ExactMatch):
    def value(self, totals):
        return totals[2]


class Narrow(ExactMatch):
    def value(self, totals):
        return np.float32(1)


@pytest.mark.parametrize(
    "kind, said",
    [
        (Flat, r"the metric Flat, .* \[2, C\]; got int64 of shape \(2,\)"),
        (Listed, r"the metric Listed, .* \[2, C\]; got list"),
        (Raising, "the metric Raising, .* fails: IndexError: index 2 is out of bounds"),
        (Narrow, "the metric Narrow, .* must give a float as its value; got float32"),
    ],
)
def test_a_mistaken_metric_is_named_with_its_mistake(kind, said):
    with pytest.raises(UserError, match=said):
        check_metric(kind(), REFERENCES[0])
