"""Updates until nearly all is right: rows by hand, censoring, and the log of a real run."""

import jax
import numpy as np
import pytest

from attnjax.data.batching import Batching
from attnjax.data.generated.modular_division import ModularDivision
from attnjax.data.generated.regression import NoisyFunction
from attnjax.errors import UserError
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.evaluation.measures.labels import LabelAccuracy
from attnjax.evaluation.measures.training_accuracy import TrainingAccuracy
from attnjax.evaluation.measures.updates_to import UpdatesTo, updates_to
from attnjax.models.kernel_regression import KernelRegression
from attnjax.models.labeler import Labeler
from tests import jitted

ROWS = [
    {"step": step, "split": split, "loss": 1.0, "accuracy": accuracy}
    for split, curve in {"train": (0.2, 0.995, 0.4, 1.0), "valid": (0.1, 0.2, 0.3, 0.4)}.items()
    for step, accuracy in zip((10, 20, 30, 40), curve, strict=True)
]


def inputs(rows) -> EvalInputs:
    given = EvalInputs(Labeler(), {}, ModularDivision(modulus=7).load(), Batching())
    return given._replace(log=lambda: rows)


def test_the_first_row_counts_and_who_never_gets_there_has_all_updates():
    found = {one.key.name: one.value for one in UpdatesTo().after_training(inputs(ROWS))}
    assert found == pytest.approx(
        {"log10_training_updates": np.log10(20), "log10_validation_updates": np.log10(40)}
    )
    assert updates_to(ROWS[4:], least=0.3) == 30
    assert updates_to(ROWS[4:], least=0.05) == 10


def test_a_log_without_accuracies_gives_no_number():
    rows = [{"step": 10, "split": "train", "loss": 1.0}]
    assert all(np.isnan(one.value) for one in UpdatesTo().after_training(inputs(rows)))


def test_an_untrained_network_is_at_chance_on_both_halves_of_the_papers_table():
    """One of 97 quotients, of 103 symbols that it may name."""
    corpus = ModularDivision().load()
    model = Labeler(width=8, num_layers=1).with_vocabularies(*corpus.vocabularies.sizes)
    source, places = np.ones((1, 4), np.int32), np.zeros((1, 1, 2), np.int32)
    params = jitted.init(model, jax.random.key(0), source, places, deterministic=True)
    given = EvalInputs(model, params["params"], corpus, Batching(max_tokens=9_600, shapes=1))
    (trained,) = TrainingAccuracy().after_training(given)
    tested = LabelAccuracy().after_training(given)[0]
    assert [trained.value, tested.value] == pytest.approx([1 / 97] * 2, abs=0.01)


def test_the_training_accuracy_is_that_of_a_loop():
    corpus = ModularDivision(modulus=5, train_share=0.6).load()
    model = Labeler(width=8, num_layers=1).with_vocabularies(*corpus.vocabularies.sizes)
    places = np.zeros((1, 1, 2), np.int32)
    source = np.ones((1, 4), np.int32)
    params = jitted.init(model, jax.random.key(0), source, places, deterministic=True)
    right = 0
    for words, target, _ in corpus.splits["train"]:
        one = np.asarray(words)[None], np.asarray(target)[None]
        logits = jitted.apply(model, params, *one, deterministic=True)
        right += int(logits[0, 0].argmax()) == int(np.asarray(target)[0, 1])
    batching = Batching(max_tokens=32, shapes=1, batch_size_multiple=4)
    given = EvalInputs(model, params["params"], corpus, batching)
    (found,) = TrainingAccuracy().after_training(given)
    assert found.value == pytest.approx(right / 12)
    with pytest.raises(UserError, match="gives labels to words, a Labeler; got KernelRegression"):
        TrainingAccuracy().check(KernelRegression(), NoisyFunction().load())
