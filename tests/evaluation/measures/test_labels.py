"""Shares of right labels, of a model whose answers are known."""

import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.batching import Batching
from attnjax.data.corpus import Corpus
from attnjax.data.examples import Encoded, Examples
from attnjax.data.vocabularies import joint
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError
from attnjax.evaluation import EvalInputs, LabelAccuracy
from attnjax.models.labeler import Labeler
from attnjax.models.language_model import LanguageModel

VOCABULARY = WordVocabulary((*SPECIAL, "a", "b", "c"))
# (source, asked (place, label)): the model answers with the word that stands there
EXAMPLES = [
    ([4, 5], [(0, 4), (1, 5)]),  # both right
    ([4, 5], [(0, 4), (1, 6)]),  # one
    ([6], [(0, 6)]),  # right
    ([4, 4, 4], [(2, 5)]),  # wrong
    ([4, 4, 4], [(0, 4), (1, 4), (2, 4)]),  # all three
    ([5, 5, 5, 5], [(3, 5), (0, 6)]),  # one of two
]
CORPUS = Corpus(
    vocabularies=joint(VOCABULARY),
    splits={"test": Examples.of(Encoded(source, np.array(target)) for source, target in EXAMPLES)},
)


class Answers(Labeler):
    """The label of a word is the word itself."""

    def setup(self):
        pass

    def labels(self, source, places, *, deterministic):
        table = np.eye(VOCABULARY.size, dtype=np.float32)
        return jnp.asarray(table)[jnp.take_along_axis(source, places, axis=1)], table


def measured(longest):
    model = Answers().with_vocabularies(7, 7)
    measure = LabelAccuracy(longest=longest)
    measure.check(model, CORPUS)
    batching = Batching(max_tokens=16, shapes=2, batch_size_multiple=1)
    found = measure.after_training(EvalInputs(model, {}, CORPUS, batching))
    assert tuple(row.key for row in found) == tuple(measure.keys(None))
    assert {row.better for row in found} == {"higher"}
    return {row.key.name: row.value for row in found}


def test_shares_of_labels_and_of_examples():
    found = measured(None)
    assert found == {"label_accuracy": pytest.approx(8 / 11), "all_labels": pytest.approx(3 / 6)}


def test_beyond_the_trained_length_every_length_weighs_the_same():
    found = measured(2)
    assert found == {
        "label_accuracy": pytest.approx(4 / 5),
        "all_labels": pytest.approx(2 / 3),
        "label_accuracy_beyond": pytest.approx((3 / 4 + 1 / 2) / 2),
        "all_labels_beyond": pytest.approx((1 / 2 + 0) / 2),
    }


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(UserError, match="a model that gives labels to words, a Labeler; got Lan"):
        LabelAccuracy().check(LanguageModel(), CORPUS)
    with pytest.raises(
        UserError, match="longest=4 must part the lengths of the test sources, 1 to 4"
    ):
        LabelAccuracy(longest=4).check(Labeler(), CORPUS)
    with pytest.raises(UserError, match="needs a test split"):
        LabelAccuracy().check(Labeler(), Corpus(vocabularies=joint(VOCABULARY), splits={}))
