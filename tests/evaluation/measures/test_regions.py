"""Whether a captioner looks at what it says: against weights that are given."""

from typing import Any

import numpy as np
import pytest
from flax import linen as nn

from attnjax.data.batching import Batching
from attnjax.data.corpus import Corpus
from attnjax.data.examples import Encoded, Examples
from attnjax.data.special_tokens import END
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.evaluation.measures.regions import Regions
from attnjax.models.base import Model

SOMEWHERE, ELSEWHERE, NOWHERE = frozenset((0, 1)), frozenset((3,)), frozenset()


class Given(Model):
    """A model whose attention is what the images hold: [B, T, S] floats."""

    @nn.compact
    def __call__(self, source: Any, given: Any, *, deterministic: bool) -> Any:
        return self.param("nothing", nn.initializers.zeros, ())

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Any:
        return self

    @nn.nowrap
    def alignment(self, params: Any, source: Any, given: Any) -> Any:
        return source[:, : given.shape[1]]


def example(strongest: list[int], regions: tuple[frozenset[int], ...]) -> Encoded:
    """An image that stands for weights: a word's row is strongest where it says."""
    weights = np.full((3, 5), 0.1, np.float32)
    weights[np.arange(3), strongest] = 0.6
    return Encoded(weights, [4] * (len(regions) - 1) + [END], regions)


def inputs(*examples: Encoded) -> EvalInputs:
    vocabulary = WordVocabulary((*SPECIAL, "word"))
    corpus = Corpus(
        vocabularies=Vocabularies(None, vocabulary), splits={"test": Examples.of(examples)}
    )
    return EvalInputs(Given(), {}, corpus, Batching(max_tokens=60, batch_size_multiple=4))


def test_a_word_is_right_where_its_strongest_weight_is_in_its_region():
    measured = Regions().after_training(
        inputs(
            example([1, 2, 0], (SOMEWHERE, ELSEWHERE, NOWHERE)),  # right, wrong
            example([4, 3, 3], (NOWHERE, ELSEWHERE, NOWHERE)),  # right
            example([3, 0, 0], (SOMEWHERE, NOWHERE)),  # wrong
        )
    )
    # Four words, of two, one, one and two patches of five.
    assert [(measurement.key.name, measurement.better) for measurement in measured] == [
        ("region_accuracy", "higher"),
        ("region_chance", None),
    ]
    assert [measurement.value for measurement in measured] == pytest.approx([0.5, 6 / 20])


def test_what_cannot_be_measured_is_refused():
    nothing = inputs(Encoded(np.zeros((3, 5), np.float32), [4, END]))
    with pytest.raises(UserError, match="words with a known region; the corpus has none"):
        Regions().check(Given(), nothing.corpus)
    outside = inputs(example([1, 2, 0], (frozenset((5,)), NOWHERE)))
    with pytest.raises(UserError, match="names patch 5, and .* makes 5 patches"):
        Regions().check(Given(), outside.corpus)
    Regions().check(Given(), inputs(example([1, 2, 0], (SOMEWHERE, NOWHERE))).corpus)
