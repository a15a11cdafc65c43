"""The cross entropy of labels at places, against float64; what does not fit is refused."""

import jax
import numpy as np
import pytest

from attnjax.data.batch_plan import Batch
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.models.language_model import LanguageModel
from attnjax.training.objectives.label_entropy import LabelEntropy
from tests import jitted
from tests.models.test_labeler import ASKED, SOURCE, initial, labeler


def test_loss_accuracy_and_gradient_are_those_of_the_asked_labels(float64):
    model = labeler()
    params = initial(model)
    logits = jitted.apply(model, {"params": params}, SOURCE, ASKED, deterministic=True)
    asked = [(row, k) for row, k in np.ndindex(2, 3) if ASKED[row, k, 1] != PAD]
    assert len(asked) == 5
    losses = [
        np.log(np.exp(logits[row, k]).sum()) - logits[row, k, ASKED[row, k, 1]] for row, k in asked
    ]
    right = [logits[row, k].argmax() == ASKED[row, k, 1] for row, k in asked]

    @jax.jit
    def totals(params):
        found = LabelEntropy()(model, params, (), Batch(SOURCE, ASKED), key=None)
        return found["loss"][0], found

    (_, found), gradient = jax.value_and_grad(totals, has_aux=True)(params)
    assert [float(found[name][1]) for name in ("loss", "accuracy")] == [5, 5]
    np.testing.assert_allclose(found["loss"][0], sum(losses), rtol=1e-12)
    assert float(found["accuracy"][0]) == sum(right)
    # the table's gradient: the sum of (p - 1 of the label) times the hidden vector
    hidden, _ = jitted.apply(
        model, {"params": params}, SOURCE, ASKED[..., 0], deterministic=True, method="labels"
    )
    wanted = np.zeros_like(params["output_embedding"])
    for row, k in asked:
        p = np.exp(logits[row, k]) / np.exp(logits[row, k]).sum()
        p[ASKED[row, k, 1]] -= 1
        wanted += np.outer(p, hidden[row, k])
    np.testing.assert_allclose(gradient["output_embedding"], wanted, rtol=0, atol=1e-12)


def test_another_model_is_refused():
    with pytest.raises(UserError, match="a model that gives labels to words, a Labeler; got Lan"):
        LabelEntropy().check(LanguageModel())
