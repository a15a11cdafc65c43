import numpy as np
import pytest

from attnjax.data.vocabulary import Characters, SplitWords
from attnjax.errors import UserError
from attnjax.evaluation.bleu import MULTI_BLEU, SACREBLEU
from attnjax.evaluation.sentence_stats import FILE, Sentences, read, sentences

REFERENCES = ["the cat, sat on it.", "a dog ran to it .", "it was the end of it"]
HYPOTHESES = ["the cat, sat on it.", "a dog ran off it .", "it was the end of"]


@pytest.mark.parametrize(
    "part, score", [(SplitWords(), MULTI_BLEU.score), (Characters(), SACREBLEU.score)]
)
def test_the_score_is_that_of_the_corpus(part, score):
    vocabulary = part.learn(REFERENCES)
    found = sentences("bleu", vocabulary, HYPOTHESES, REFERENCES, [4, 5, 6])
    assert found.value() == pytest.approx(score(HYPOTHESES, REFERENCES).value)
    twice = [HYPOTHESES[0], HYPOTHESES[2], HYPOTHESES[2]], [REFERENCES[0], *[REFERENCES[2]] * 2]
    assert found.value(np.array([1, 0, 2])) == pytest.approx(score(*twice).value)
    some = score(HYPOTHESES[1:], REFERENCES[1:]).value
    assert found.at(np.array([1, 2])).value() == pytest.approx(some)


def test_exact_match_is_a_share():
    found = sentences("exact_match", Characters().learn("ab"), ["a", "b"], ["a", "a"], None)
    assert found.value() == 0.5
    assert found.value(np.array([3, 1])) == 0.75


@pytest.mark.parametrize("lengths", [[4, 5, 6], None])
@pytest.mark.parametrize("metric", ["bleu", "exact_match"])
def test_what_is_written_is_read(tmp_path, metric, lengths):
    one = sentences(metric, SplitWords().learn(REFERENCES), HYPOTHESES, REFERENCES, lengths)
    assert read(tmp_path) is None
    one.write(tmp_path)
    other = read(tmp_path)
    assert isinstance(other, Sentences)
    assert one.comparable(other)
    np.testing.assert_array_equal(one.statistics, other.statistics)
    assert one.value() == other.value()


def test_a_damaged_file_is_named(tmp_path):
    for text in ("{", "[]", '{"metric": "bleu"}'):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(UserError, match=f"{FILE} is damaged"):
            read(tmp_path)


def test_other_sources_are_not_comparable():
    vocabulary = SplitWords().learn(REFERENCES)

    def made(metric="bleu", lengths: list[int] | None = None) -> Sentences:
        return sentences(metric, vocabulary, HYPOTHESES, REFERENCES, lengths)

    one = made(lengths=[4, 5, 6])
    assert one.comparable(made(lengths=[4, 5, 6]))
    assert made().comparable(made())
    different = [made(), made(lengths=[4, 6, 5]), made("exact_match", [4, 5, 6])]
    plain = sentences("bleu", Characters().learn(REFERENCES), HYPOTHESES, REFERENCES, [4, 5, 6])
    for other in (*different, plain, one.at(np.array([0, 1]))):
        assert not one.comparable(other)
