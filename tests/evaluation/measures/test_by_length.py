import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.batching import Batching
from attnjax.data.corpus import Corpus
from attnjax.data.examples import Encoded, Examples
from attnjax.data.special_tokens import END
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import UserError
from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.evaluation.measures.by_length import ByLength, by_length
from attnjax.evaluation.metric import ExactMatch, Metric
from attnjax.evaluation.sentence_stats import sentences
from attnjax.models.seq2seq import Seq2Seq

SOURCES = ["a b c d e", "a", "a b c", "a b", "a b c d", "c", "a b c d e f", "a b", "b"]
REFERENCES = [
    f"the {word} sat on the mat and on it"
    for word in ["cat", "dog", "cow", "pig", "hen", "yak", "bee", "ant", "fly"]
]
HYPOTHESES = [text.replace("mat", "rug") if n % 2 else text for n, text in enumerate(REFERENCES)]
# 1, 1, 1 | 2, 2 | 3, 4 | 5, 6 words, equally long ones by their place
PARTS = [[1, 5, 8], [3, 7], [2, 4], [0, 6]]
VOCABULARY = SplitWords().learn(SOURCES + REFERENCES)


def corpus(sources: list[str] = SOURCES) -> Corpus:
    encoded = (Encoded([*VOCABULARY.encode(source), END], [END]) for source in sources)
    references = REFERENCES[: len(sources)]
    return Corpus(
        vocabularies=joint(VOCABULARY),
        splits={"test": Examples.of(encoded)},
        references={"test": references},
    )


def inputs(metric: Metric) -> EvalInputs:
    lengths = [len(source.split()) for source in SOURCES]
    scored = sentences(metric, HYPOTHESES, REFERENCES, lengths)
    return EvalInputs(Seq2Seq(), {}, corpus(), Batching(), scored)


def test_quartiles_are_cut_by_length_and_by_place():
    lengths = [len(source.split()) for source in SOURCES]
    assert [part.tolist() for part in by_length(lengths, 4)] == PARTS
    # equal lengths: as the corpus has them
    assert [part.tolist() for part in by_length([7] * 5, 2)] == [[0, 1, 2], [3, 4]]
    everything = np.concatenate(by_length(np.random.default_rng(0).integers(1, 9, 50), 4))
    assert sorted(everything.tolist()) == list(range(50))


@pytest.mark.parametrize("lengths, parts", [([1, 2, 3], 4), ([1, 2, 3], 1), ([], 2)])
def test_there_is_a_sentence_for_each_part(lengths, parts):
    with pytest.raises(UserError, match=f"got {parts} parts of {len(lengths)} sentences"):
        by_length(lengths, parts)


@pytest.mark.parametrize("metric", [Bleu(tokenize="none", smooth="none"), ExactMatch()], ids=repr)
def test_each_part_is_scored_as_a_corpus(metric):
    expected = [
        Measurement(
            MetricKey(metric.name, part=(number, 4)),
            pytest.approx(
                metric.score(
                    [HYPOTHESES[place] for place in part], [REFERENCES[place] for place in part]
                )
            ),
            "higher",
        )
        for number, part in enumerate(PARTS, start=1)
    ]
    found = ByLength().after_training(inputs(metric))
    assert found == expected
    assert len({measurement.value for measurement in found}) > 2
    assert not ByLength().at_init(inputs(metric))
    halves = ByLength(parts=2).after_training(inputs(metric))
    assert [measurement.key.part for measurement in halves] == [(1, 2), (2, 2)]
    assert len(ByLength(parts=7).after_training(inputs(metric))) == 7


def test_what_has_no_length_is_refused_before_it_is_trained():
    measure = ByLength()
    measure.check(Seq2Seq(), corpus())
    with pytest.raises(UserError, match="got 4 parts of 3 sentences"):
        measure.check(Seq2Seq(), corpus(SOURCES[:3]))
    images = Corpus(
        vocabularies=Vocabularies(None, VOCABULARY),
        splits={"test": Examples.of([Encoded(np.zeros((2, 2, 1), np.float32), [END])] * 9)},
        references={"test": REFERENCES},
    )
    with pytest.raises(UserError, match="needs sources that are text"):
        measure.check(Seq2Seq(), images)
    nothing = EvalInputs(Seq2Seq(), {"x": jnp.ones(1)}, corpus(), Batching())
    with pytest.raises(UserError, match="nothing was decoded"):
        measure.after_training(nothing)
