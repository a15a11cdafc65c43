"""An update and an evaluation against NumPy: what is random in them, and what they average."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.special_tokens import PAD, START
from attnjax.lab.log.metrics_log import RunningMean
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.optimizers import GradientDescent
from attnjax.training.schedules import InverseSquareRoot
from attnjax.training.settings import Recipe, Training
from attnjax.training.step import State, evaluation_step, initial_state, on_one_device, train_step
from tests.training.toy import Toy, ragged

CLIP = 1e-3
OPTIMIZER = GradientDescent(schedule=InverseSquareRoot(peak=10.0, warmup=4), clip=CLIP)
RECIPE = Recipe(
    model=Toy(),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=OPTIMIZER,
    training=Training(),
)
SHARED: dict[str, Any] = {"recipe": RECIPE, "over_devices": on_one_device}
BATCH = ragged(1, seed=0)[0]


@pytest.fixture(scope="module")
def state() -> State:
    return initial_state(jax.random.key(3), BATCH, recipe=RECIPE)


def mean_loss(logits: np.ndarray, target: np.ndarray) -> float:
    """Return the mean of -log p over the words of all sentences."""
    shifted = logits - logits.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    gold = np.take_along_axis(logs, target[..., None], -1)[..., 0]
    return -float(gold[target != PAD].mean())


def logits(params: Any, batch: Any, key: jax.Array | None = None) -> np.ndarray:
    given = np.concatenate([np.full((len(batch.target), 1), START), batch.target[:, :-1]], 1)
    rngs = {} if key is None else {"dropout": key}
    call = partial(Toy().apply, {"params": params}, batch.source, given, rngs=rngs)
    return np.asarray(call(deterministic=key is None), np.float64)


def test_every_update_drops_something_else_and_evaluation_nothing(state):
    step = jax.jit(partial(train_step, **SHARED))
    losses = []
    for number in (0, 1):
        _, metrics = step(state.replace(step=jnp.int32(number)), BATCH)
        key = jax.random.fold_in(state.key, number)
        expected = mean_loss(logits(state.params, BATCH, key), BATCH.target)
        assert float(metrics["loss"]) == pytest.approx(expected, rel=1e-5)
        losses.append(expected)
    plain = mean_loss(logits(state.params, BATCH), BATCH.target)
    total, count = evaluation_step(state.params, BATCH, **SHARED)["loss"]
    assert float(total / count) == pytest.approx(plain, rel=1e-5)
    assert len({*losses, plain}) == 3


def test_the_norm_is_the_gradients_before_it_is_clipped(state):
    after, metrics = jax.jit(partial(train_step, **SHARED))(state, BATCH)
    moved = jax.tree.leaves(jax.tree.map(lambda new, old: new - old, after.params, state.params))
    length = float(np.sqrt(sum((np.asarray(leaf, np.float64) ** 2).sum() for leaf in moved)))
    rate = float(OPTIMIZER.schedule.rate(1))
    assert length == pytest.approx(rate * CLIP, rel=1e-3)
    assert float(metrics["gradient_norm"]) > 10 * CLIP


def test_a_window_weighs_by_tokens():
    window = RunningMean()
    for tokens, loss in ((1.0, 5.0), (3.0, 1.0)):
        window.add({"tokens": np.array([tokens]), "loss": np.array([loss])})
    assert window.means()["loss"] == pytest.approx(2.0)
