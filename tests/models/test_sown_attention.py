"""A pass through a model sows one array of weights per attention; initializing sows nothing."""

import jax
import numpy as np
import pytest

from attnjax.models import BahdanauDecoder, Classifier, LuongDecoder, Model, Seq2Seq
from tests.models.small import GIVEN, SOURCE, VOCABULARY, small

SIZES = {"source_vocabulary": VOCABULARY, "vocabulary": VOCABULARY}


@pytest.mark.parametrize(
    "model, given, attentions",
    [
        (small(layers=1), GIVEN, 3),
        (small(layers=3), GIVEN, 9),
        (Seq2Seq(width=8, decoder=LuongDecoder(), **SIZES), GIVEN, 1),
        (Seq2Seq(width=8, decoder=BahdanauDecoder(), **SIZES), GIVEN, 1),
        (Classifier(width=8, **SIZES), np.ones((2, 1), int), 1),
    ],
    ids=["transformer-1", "transformer-3", "luong", "bahdanau", "classifier"],
)
def test_one_array_of_weights_for_each_attention(model: Model, given: np.ndarray, attentions: int):
    def run() -> tuple[dict, dict]:
        variables = model.init(jax.random.key(0), SOURCE, given, deterministic=True)
        return variables, model.sown_attention(variables["params"], SOURCE, given)

    variables, sown = jax.eval_shape(run)
    assert set(variables) == {"params"}
    tuples = jax.tree.leaves(sown, is_leaf=lambda node: isinstance(node, tuple))
    assert all(len(values) == 1 for values in tuples)
    paths = [
        [entry.key for entry in path if isinstance(entry, jax.tree_util.DictKey)]
        for path, _ in jax.tree.leaves_with_path(sown)
    ]
    assert sum(path[-1] == "weights" for path in paths) == attentions
