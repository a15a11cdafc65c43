import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from attnjax.errors import UserError
from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.metric import ChrF, ExactMatch, Metric
from attnjax.evaluation.sentence_stats import FILE, Sentences, read, sentences

REFERENCES = ["the cat, sat on it.", "a dog ran to it .", "it was the end of it"]
HYPOTHESES = ["the cat, sat on it.", "a dog ran off it .", "it was the end of"]
TOKENIZED = Bleu(tokenize="none", smooth="none")


@dataclass(frozen=True, kw_only=True)
class Length(Metric):
    """A user's own: how much shorter answers are than their references, on average."""

    name = "length"

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        pairs = zip(hypotheses, references, strict=True)
        return np.asarray([[(len(r) - len(h)) / 2, 1] for h, r in pairs])

    def value(self, totals: np.ndarray) -> float:
        return float(totals[0] / totals[1])


@pytest.mark.parametrize("metric", [TOKENIZED, Bleu(), ExactMatch()], ids=repr)
def test_the_score_is_that_of_the_corpus(metric):
    found = sentences(metric, HYPOTHESES, REFERENCES, [4, 5, 6])
    assert found.value() == pytest.approx(metric.score(HYPOTHESES, REFERENCES))
    some = metric.score(HYPOTHESES[1:], REFERENCES[1:])
    assert found.at(np.array([1, 2])).value() == pytest.approx(some)


@pytest.mark.parametrize("lengths", [[4, 5, 6], None])
@pytest.mark.parametrize("metric", [TOKENIZED, ExactMatch(), ChrF(order=3), Length()], ids=repr)
def test_what_is_written_is_read(tmp_path, metric, lengths):
    one = sentences(metric, HYPOTHESES, REFERENCES, lengths)
    assert read(tmp_path) is None
    own = {"Length": Length}
    one.write(tmp_path, own)
    other = read(tmp_path, own)
    assert isinstance(other, Sentences)
    assert one.comparable(other)
    np.testing.assert_array_equal(one.statistics, other.statistics)
    assert one.value() == other.value()


def test_statistics_that_are_not_finite_are_json_and_read_as_such(tmp_path):
    rows = np.array([[math.nan, 1], [0.5, 1]])
    one = Sentences(metric=Length(), lengths=None, statistics=rows)
    own = {"Length": Length}
    one.write(tmp_path, own)
    content = json.loads((tmp_path / FILE).read_text(), parse_constant=pytest.fail)
    assert content["statistics"] == [[None, 1.0], [0.5, 1.0]]
    other = read(tmp_path, own)
    assert other is not None
    np.testing.assert_array_equal(other.statistics, rows)


def test_a_damaged_file_is_named(tmp_path):
    for text in ("{", "[]", '{"metric": "bleu"}', '{"metric": 3, "lengths": null}'):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(UserError, match=f"{FILE} is damaged"):
            read(tmp_path)


def test_other_sources_are_not_comparable():
    def made(metric=TOKENIZED, lengths: list[int] | None = None) -> Sentences:
        return sentences(metric, HYPOTHESES, REFERENCES, lengths)

    one = made(lengths=[4, 5, 6])
    assert one.comparable(made(lengths=[4, 5, 6]))
    assert made().comparable(made())
    different = [made(), made(lengths=[4, 6, 5]), made(Bleu(), [4, 5, 6])]
    for other in (*different, one.at(np.array([0, 1]))):
        assert not one.comparable(other)
