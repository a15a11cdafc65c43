"""The weights that differ most from the learned ones, against all weights on a grid."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.special import softmax

from attnjax.attention.heads.multihead import MultiHead
from attnjax.data.batching import Batching
from attnjax.data.corpus import Corpus
from attnjax.data.examples import Encoded, Examples
from attnjax.data.special_tokens import END
from attnjax.data.vocabularies import Vocabularies
from attnjax.errors import UserError
from attnjax.evaluation.measures.adversarial import AdversarialAttention, adversarial_divergence
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.models.classifier import Classifier
from attnjax.models.rnn_encoder import Encoder

GRID = np.array([(i, j, 100 - i - j) for i in range(101) for j in range(101 - i)]) / 100
LEARNED = np.array([0.6, 0.3, 0.1])
random = np.random.default_rng(0)
LOGITS = np.array(
    [
        np.ones((3, 3)),  # no place matters
        9 * np.eye(3),  # each is for a label of its own
        9 * np.eye(3)[[0, 0, 1]],  # two are alike
        random.normal(0, 2, (3, 3)),
    ]
)


def greatest(logits: np.ndarray, tolerance: float) -> float:
    """The greatest divergence of weights on the grid whose prediction stays."""
    before, after = softmax(LEARNED @ logits), softmax(GRID @ logits, -1)
    stays = GRID[np.abs(after - before).sum(-1) / 2 <= tolerance]
    return float(jensenshannon(stays, np.broadcast_to(LEARNED, stays.shape), axis=1).max() ** 2)


@pytest.mark.parametrize("tolerance", [0.02, 0.2])
def test_no_weights_that_predict_the_same_differ_more(tolerance):
    padded = np.pad(LOGITS, [(0, 0), (0, 1), (0, 0)], constant_values=5)
    learned = jnp.asarray(np.tile([*LEARNED, 0], (len(padded), 1)), jnp.float32)
    ours = adversarial_divergence(
        jnp.asarray(padded, jnp.float32),
        learned,
        learned > 0,
        tolerance,
        jax.random.key(0),
        starts=20,
        steps=500,
    )
    wanted = [greatest(logits, tolerance) for logits in LOGITS]
    np.testing.assert_allclose(ours, wanted, atol=0.02)
    # where no place matters, all the weight goes where least was
    gaps = 0.9 * math.log(2) + 0.1 * math.log(0.1 / 0.55), math.log(1 / 0.55)
    assert ours[0] == pytest.approx(sum(gaps) / 2, abs=0.002)


def test_a_classifier_that_ignores_its_text_keeps_its_prediction_under_any_weights():
    model = Classifier(
        vocabulary=6, source_vocabulary=9, width=4, encoder=Encoder(width=3), dropout=0.3
    )
    test = Examples.of([Encoded([5, 6, 7, END], [4]), Encoded([8, END], [5])])
    corpus = Corpus(vocabularies=Vocabularies(None, None), splits={"test": test})
    source, given = jnp.asarray([[5, 6, 7, END], [8, END, 0, 0]]), jnp.full((2, 1), 4)
    init = partial(model.init, deterministic=True)
    params = jax.jit(init)(jax.random.key(0), source, given)["params"]
    params["label"] = 0 * params["label"]
    measure = AdversarialAttention(starts=20)
    measure.check(model, corpus)
    batching = Batching(max_tokens=64, batch_size_multiple=3)
    (measured,), details = measure.with_details(EvalInputs(model, params, corpus, batching))
    learned = np.asarray(jax.jit(model.alignment)(params, source, given))[:, 0]
    wanted = [
        max(jensenshannon(weights[:words], place) ** 2 for place in np.eye(words))
        for weights, words in zip(learned, [4, 2], strict=True)
    ]
    np.testing.assert_allclose(details["adversarial"], wanted, atol=0.01)
    assert measured.value == pytest.approx(np.mean(details["adversarial"]))
    for attention, name in ((MultiHead(heads=2), "MultiHead"), (None, "NoneType")):
        with pytest.raises(UserError, match=f"needs a Classifier .* got a Classifier with {name}"):
            measure.check(model.clone(attention=attention), corpus)
