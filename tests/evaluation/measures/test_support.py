"""The support of an attention: places with a weight above 0, padding left out."""

import numpy as np

from attnjax.evaluation.measures.support import Support


def test_softmax_has_weight_everywhere(inputs):
    (found,) = Support().after_training(inputs)
    examples = inputs.corpus.splits["test"]
    words = [len(example.source) for example in examples for _ in example.target]
    assert found.value == np.mean(words)


def test_only_places_with_a_weight_count(inputs, monkeypatch):
    weights = [np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]), np.array([[0.2, 0.3, 0.5]])]
    monkeypatch.setattr(
        "attnjax.evaluation.measures.support.attention_of",
        lambda _: [(rows, ()) for rows in weights],
    )
    assert Support().after_training(inputs)[0].value == (2 + 1 + 3) / 3
