"""The squared error: its sums, and what NaN keeps out of them."""

from functools import partial
from itertools import pairwise

import jax
import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.score.kernel import LearnedGaussian
from attnjax.data.batch_plan import Batch
from attnjax.lab.checkpoints.checkpoint import Checkpoints
from attnjax.lab.checkpoints.snapshot import RunProgress, Snapshot
from attnjax.models.kernel_regression import KernelRegression
from attnjax.training.objectives.squared_error import (
    SquaredError,
    SquaredErrorWithin,
    squared_error,
)
from attnjax.training.optimizers import Adam
from attnjax.training.settings import Recipe, Training
from attnjax.training.step import initial_state
from tests.jitted import apply

MODEL = KernelRegression(attention=Attention(score=LearnedGaussian(bandwidth=0.7)))
PARAMS = {"attention": {"score": {"log_bandwidth": np.float32(np.log(0.7))}}}


@jax.jit
def totals(source, target, params, key=None):
    batch = Batch(source, target)
    return SquaredError()(MODEL, params, (), batch, key=key)


def test_sums_over_the_targets_that_are_there():
    predicted = np.array([[1.0, 2.0, np.inf], [3.0, 4.0, 5.0]])
    target = np.array([[0.0, 4.0, np.nan], [np.nan, 4.5, np.nan]])
    (total, count), slope = jax.jit(jax.value_and_grad(squared_error, has_aux=True))(
        predicted, target
    )
    assert (float(total), int(count)) == (1 + 4 + 0.25, 3)
    np.testing.assert_array_equal(slope, [[2, -4, 0], [0, -1, 0]])
    half = jax.jit(squared_error)(np.full(1, 300, np.float16), np.zeros(1, np.float16))
    assert [x.dtype for x in half] == [np.float32] * 2
    assert float(half[0]) == 90_000  # past float16


@pytest.mark.parametrize("training", [pytest.param(False, marks=pytest.mark.long), True])
def test_padding_and_filler_equal_their_absence(training, float64):
    points = np.random.default_rng(0).normal(size=(5, 2))
    padded = np.full((2, 7, 2), np.nan)
    padded[0, :5] = points
    key = jax.random.key(0) if training else None

    @jax.jit
    @jax.value_and_grad
    def mean(params, x):
        total, count = totals(x, x, params, key)["loss"]
        return total / count

    found, expected = mean(PARAMS, padded), mean(PARAMS, points[None])
    slope = found[1]["attention"]["score"]["log_bandwidth"]
    assert 1e-3 < abs(float(slope)) < 1e3
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert int(totals(padded, padded, PARAMS, key)["loss"][1]) == 5


def test_what_is_near_counts_as_right(float64):
    points = np.random.default_rng(0).normal(size=(1, 5, 2))
    padded = np.pad(points, ((0, 0), (0, 2), (0, 0)), constant_values=np.nan)
    predicted = apply(MODEL, {"params": PARAMS}, points, points, deterministic=True)
    gaps = np.sort(np.abs(predicted - points[..., 1]).ravel())
    for right, (low, high) in enumerate(pairwise(gaps), 1):
        objective = SquaredErrorWithin(tolerance=float(low + high) / 2)
        found = jax.jit(partial(objective, MODEL, key=None))(PARAMS, (), Batch(padded, padded))
        assert [float(x) for x in found["accuracy"]] == [right, 5]
        np.testing.assert_allclose(found["loss"][0], (gaps**2).sum(), rtol=1e-12)


def test_a_point_is_left_out_in_training_only(float64):
    points = np.random.default_rng(0).normal(size=(1, 5, 2))
    sums = [
        float(totals(points, points, PARAMS, key)["loss"][0]) for key in (None, jax.random.key(0))
    ]
    predictions = [
        apply(MODEL, {"params": PARAMS}, points, points, deterministic=deterministic)
        for deterministic in (True, False)
    ]
    for found, predicted in zip(sums, predictions, strict=True):
        np.testing.assert_allclose(found, ((predicted - points[..., -1]) ** 2).sum(), rtol=1e-12)
    assert sums[0] < sums[1]


def test_a_model_without_parameters_is_saved_and_read_back(tmp_path):
    points = np.ones((1, 5, 2), np.float32)
    recipe = Recipe(
        model=KernelRegression(),
        objective=SquaredError(),
        optimizer=Adam(),
        training=Training(),
    )
    initial = jax.jit(partial(initial_state, recipe=recipe))
    state = initial(jax.random.key(0), Batch(points, points))
    assert state.params == {}
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(Snapshot.of(state, RunProgress(epoch_end=True)))
    restored = checkpoints.restore(0, state)
    assert restored.params == {}
    assert jax.tree.structure(restored) == jax.tree.structure(state)
    assert checkpoints.average(checkpoints.ends(1)) == {}
    checkpoints.close()
