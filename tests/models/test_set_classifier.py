"""A set's class: an independent forward pass, padding, the order of items."""

import jax
import numpy as np
import pytest

from attnjax.attention.align.base import POLYNOMIAL
from attnjax.data.batching import Batching
from attnjax.data.generated.max_retrieval import MaxRetrieval
from attnjax.data.generated.regression import NoisyFunction
from attnjax.errors import UserError
from attnjax.evaluation.measures import set_accuracy
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.models.kernel_regression import KernelRegression
from attnjax.models.set_classifier import SetClassifier
from tests import jitted

MODEL = SetClassifier(width=6, vocabulary=8, activation="relu")
ITEMS = np.random.default_rng(0).normal(size=(2, 5, 3))
START = np.ones((2, 1), np.int32)


@pytest.fixture(scope="module")
def params():
    return jitted.init(
        MODEL, jax.random.key(0), ITEMS.astype(np.float32), START, deterministic=True
    )


def forward(params, items: np.ndarray, *, adaptive: bool = False) -> np.ndarray:
    """The logits of one set, in NumPy."""
    own = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params["params"])

    def dense(name, x):
        return x @ own[name]["kernel"] + own[name]["bias"]

    hidden = dense("items_out", np.maximum(dense("items_in", items), 0))
    heads = {name: own["attention"][name]["kernel"] for name in ("query", "key", "value", "out")}
    logits = (hidden @ heads["key"][:, 0]) @ (own["query"] @ heads["query"][:, 0])
    logits = logits / np.sqrt(6)
    weights = np.exp(logits) / np.exp(logits).sum()
    entropy = -(weights * np.log(weights)).sum()
    if adaptive and entropy > 0.5:
        logits = max(1, np.polyval(POLYNOMIAL, entropy)) * logits
        weights = np.exp(logits) / np.exp(logits).sum()
    context = (weights @ hidden @ heads["value"][:, 0]) @ heads["out"][0]
    return own["label"] @ np.maximum(dense("context", context), 0)


def retrieving(sharpness: float) -> dict:
    """Weights by hand: logits are `sharpness` times the priority, values the classes."""
    same = np.eye(6)
    plain = {"kernel": same, "bias": np.zeros(6)}
    heads = {
        "query": np.eye(6)[:, None] * sharpness * 6**0.5,
        "key": same[:, None],
        "value": same[:, None],
        "out": same[None],
    }
    return {
        "items_in": {"kernel": same[:5], "bias": np.zeros(6)},
        "items_out": plain,
        "query": same[0],
        "attention": {name: {"kernel": kernel} for name, kernel in heads.items()},
        "context": plain,
        # four special symbols, then the classes
        "label": np.concatenate([np.zeros((4, 6)), same[1:5]]),
    }


def call(params, items):
    return jitted.apply(MODEL, params, items, START, deterministic=True)


def test_logits_are_those_of_an_independent_program(params, float64):
    found = call(params, ITEMS)
    for items, logits in zip(ITEMS, found, strict=True):
        np.testing.assert_allclose(logits, forward(params, items)[None], rtol=1e-6)


def test_items_have_no_order_and_padding_is_not_read(params, float64):
    whole = call(params, ITEMS)
    padded = np.pad(ITEMS[:, ::-1], ((0, 0), (0, 2), (0, 0)), constant_values=np.nan)
    np.testing.assert_allclose(call(params, padded), whole, rtol=1e-9)


def test_a_target_is_one_label(params):
    with pytest.raises(UserError, match="a target must have one symbol; got 2"):
        MODEL.apply(params, ITEMS, np.ones((2, 2), np.int32), deterministic=True)


@pytest.fixture(scope="module")
def task():
    return MaxRetrieval(train=1, valid=1, test=32, classes=4)


def test_the_accuracy_at_each_size_and_the_gain_are_those_of_the_program(task):
    model, corpus = SetClassifier(width=6, vocabulary=8, activation="relu"), task.load()
    params = {"params": retrieving(sharpness=24.0)}
    batching = Batching(max_tokens=200, shapes=1, batch_size_multiple=2)
    inputs = EvalInputs(model, params["params"], corpus, batching)
    right = {True: [], False: []}
    for adaptive, found in right.items():
        for example in corpus.splits["test"]:
            logits = forward(params, example.source.astype(float), adaptive=adaptive)
            found.append(int(logits.argmax()) == example.target[0])
    own, adaptive = (np.reshape(right[key], (4, 8)).mean(1) for key in (False, True))
    found = {one.key.name: one.value for one in set_accuracy.SetAccuracy().after_training(inputs)}
    assert [*found.values()] == pytest.approx([*own, *(own[0] - own[1:])])
    assert [*found] == [f"accuracy_at_{n}" for n in set_accuracy.SIZES] + [
        f"fall_to_{n}" for n in set_accuracy.SIZES[1:]
    ]
    gains = [one.value for one in set_accuracy.AdaptiveGain().after_training(inputs)]
    assert gains == pytest.approx(adaptive - own)
    assert own[0] > 0.8 > own[-1]
    assert (adaptive > own).any()


def test_what_cannot_be_measured_is_refused_early(task):
    set_accuracy.SetAccuracy().check(MODEL, task.load())
    small = MaxRetrieval(train=1, valid=1, test=2, test_sizes=(16, 512)).load()
    with pytest.raises(UserError, match="none of 1024, 2048"):
        set_accuracy.AdaptiveGain().check(MODEL, small)
    with pytest.raises(UserError, match="predicts labels; got KernelRegression"):
        set_accuracy.SetAccuracy().check(KernelRegression(), NoisyFunction().load())
