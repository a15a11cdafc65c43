"""Batch norm against its equations in NumPy: the batch's moments, padding, the running ones."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from attnjax.nn.initializers import UniformInit, draw_parameters
from attnjax.nn.norm import BatchNorm, batch_moments
from attnjax.nn.parameter_kinds import keep_untrained, trained_only
from tests import jitted

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(1.0, 2.0, (3, 4, 5))
COUNTED = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]], bool)
PARAMETERS = {
    "scale": RANDOM.normal(1.0, 0.3, 5),
    "bias": RANDOM.normal(0.0, 0.3, 5),
    "running_mean": RANDOM.normal(0.0, 0.3, 5),
    "running_variance": RANDOM.uniform(0.5, 2.0, 5),
}
NORM = BatchNorm(momentum=0.8, epsilon=0.1)


def apply(x: Any, valid: Any, parameters: Any = PARAMETERS) -> jax.Array:
    return jitted.apply(NORM, {"params": parameters}, x, valid)


def moments(x: np.ndarray, valid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the valid rows; squares, not moduli, for complex steps."""
    rows = x[valid]
    mean = rows.mean(0)
    return mean, ((rows - mean) ** 2).mean(0)


def oracle(x: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Ioffe and Szegedy 2015, algorithm 1."""
    normal = (x - mean) / np.sqrt(variance + NORM.epsilon)
    return normal * PARAMETERS["scale"] + PARAMETERS["bias"]


def test_training_takes_the_moments_of_what_is_counted_with_gradient(float64):
    direction, way = RANDOM.normal(size=X.shape), RANDOM.normal(size=X.shape)

    @jax.jit
    def read(x, direction):
        found, back = jax.vjp(lambda x: apply(x, COUNTED), x)
        return found, *back(direction)

    found, gradient = read(X, direction)
    np.testing.assert_allclose(found, oracle(X, *moments(X, COUNTED)), rtol=0, atol=1e-12)
    moved = X + 1e-30j * way
    slope = (oracle(moved, *moments(moved, COUNTED)) * direction).sum().imag / 1e-30
    assert (np.asarray(gradient) * way).sum() == pytest.approx(slope, rel=1e-10)


def test_padding_changes_nothing(float64):
    huge = np.where(COUNTED[..., None], X, 1e6)
    one, other = (np.asarray(apply(x, COUNTED)) for x in (X, huge))
    np.testing.assert_array_equal(one[COUNTED], other[COUNTED])


@pytest.mark.parametrize("offset", [1e3, 1e4, 1e6])
def test_an_offset_costs_no_accuracy(offset):
    """E[x^2] - E[x]^2 would be wrong by a fifth at 1,000, and 0 at 10,000."""
    x = np.float32(offset + np.random.default_rng(0).normal(size=(64, 5)))
    valid = np.arange(64) < 60
    found = jax.jit(batch_moments)(x, valid)
    on_devices = jax.jit(jax.vmap(batch_moments, out_axes=None, axis_name="data"))
    divided = on_devices(x.reshape(4, 16, 5), valid.reshape(4, 16))
    mean, variance = moments(np.float64(x), valid)
    for moment in (found, divided):
        np.testing.assert_allclose(moment.mean, mean, rtol=2e-7)
        np.testing.assert_allclose(moment.variance, variance, rtol=1e-5)


def test_evaluation_takes_the_running_moments_row_by_row(float64):
    mean, variance = PARAMETERS["running_mean"], PARAMETERS["running_variance"]
    np.testing.assert_allclose(apply(X, None), oracle(X, mean, variance), rtol=0, atol=1e-12)
    # one word of a search, or a whole batch of them
    np.testing.assert_array_equal(apply(X[0, 0], None), np.asarray(apply(X, None))[0, 0])


@pytest.mark.parametrize("optimizer", [optax.adam(0.1), optax.adamw(0.1, weight_decay=0.5)])
def test_an_update_moves_the_running_moments_to_the_batchs(optimizer, float64):
    """Ioffe and Szegedy 2015, section 3.1; no optimizer has a part in it."""

    def loss(parameters: Any) -> jax.Array:
        return (apply(X, COUNTED, parameters) ** 3).sum()

    @jax.jit
    def update(params: Any) -> Any:
        sums = jax.grad(loss)(params)
        gradients = trained_only(sums)
        updates, _ = optimizer.update(gradients, optimizer.init(params), params)
        after = keep_untrained(optax.apply_updates(params, updates), params, sums)
        return sums, gradients, after

    sums, gradients, after = jax.device_get(update(PARAMETERS))
    for name, batch in zip(("mean", "variance"), moments(X, COUNTED), strict=True):
        assert not gradients[f"running_{name}"].any()
        expected = 0.8 * PARAMETERS[f"running_{name}"] + 0.2 * batch
        np.testing.assert_allclose(after[f"running_{name}"], expected, rtol=0, atol=1e-12)
    for name in ("scale", "bias"):
        np.testing.assert_array_equal(gradients[name], sums[name])
        assert (after[name] != PARAMETERS[name]).all()


def test_a_batch_of_padding_alone_is_harmless():
    nothing, parameters = np.zeros(X.shape[:2], bool), jax.tree.map(np.float32, PARAMETERS)
    read = jax.jit(jax.value_and_grad(lambda x: apply(x, nothing, parameters).sum()))
    assert all(np.isfinite(found).all() for found in read(np.float32(X)))


def test_half_precision_computes_the_moments_in_float32():
    x = jnp.asarray(300 + np.tile([-2.0, 2.0], 32)[:, None], jnp.bfloat16)
    parameters = jitted.init(NORM, jax.random.key(0), x)["params"]
    half = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), parameters)
    found = jitted.apply(BatchNorm(), {"params": half}, x, np.ones(64, bool))
    assert found.dtype == jnp.bfloat16
    np.testing.assert_allclose(
        np.asarray(found, np.float32)[:, 0], np.tile([-1.0, 1.0], 32), atol=1e-2
    )


def test_a_models_initializer_leaves_the_running_moments():
    first = jitted.init(NORM, jax.random.key(0), np.float32(X))["params"]
    drawn = draw_parameters(UniformInit(scale=0.1), jax.random.key(1), {"norm": first})["norm"]
    drawn = jax.device_get(drawn)
    assert (drawn["running_mean"] == 0).all()
    assert (drawn["running_variance"] == 1).all()
    assert (abs(drawn["scale"]) <= 0.1).all()
