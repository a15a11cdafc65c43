from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from attnjax.training.optimizers import Adadelta, Adam, GradientDescent
from attnjax.training.schedules import Constant, Noam


def compiled(optimizer: Any) -> tuple[Any, Any]:
    """Its initial state of parameters, and its updates, each one program."""
    transform = optimizer.make()
    return jax.jit(transform.init), jax.jit(transform.update)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("clip", [None, 1.0])
def test_adam_is_algorithm_1_on_clipped_gradients(clip):
    schedule = Noam(width=4, warmup=2)
    optimizer = Adam(schedule=schedule, b1=0.8, b2=0.9, epsilon=1e-3, clip=clip)
    init, update = compiled(optimizer)
    params = {"a": np.zeros(2), "b": np.zeros(1)}
    state = init(params)
    first = second = np.zeros(3)
    for step, gradient in enumerate(np.random.default_rng(0).normal(0, 3, (4, 3)), start=1):
        updates, state = update({"a": gradient[:2], "b": gradient[2:]}, state, params)
        if clip:
            gradient = gradient * min(1, clip / np.linalg.norm(gradient))
        first = 0.8 * first + 0.2 * gradient
        second = 0.9 * second + 0.1 * gradient**2
        wanted = first / (1 - 0.8**step) / (np.sqrt(second / (1 - 0.9**step)) + 1e-3)
        got = np.concatenate([updates["a"], updates["b"]])
        np.testing.assert_allclose(got, -float(schedule.rate(step)) * wanted, rtol=1e-6)


@pytest.mark.usefixtures("float64")
def test_adam_takes_the_decay_from_weights_and_not_from_biases_and_scales():
    rate, decay = 0.5, 0.1
    params = {"out": {"kernel": np.ones(2), "bias": np.ones(2)}, "scale": np.ones(2)}
    gradients = {"out": {"kernel": np.ones(2), "bias": -np.ones(2)}, "scale": np.ones(2)}
    updates = []
    for optimizer in (Adam(weight_decay=decay), Adam()):
        init, update = compiled(replace(optimizer, schedule=Constant(value=rate)))
        updates.append(jax.device_get(update(gradients, init(params), params)[0]))
    weights, plain = updates
    np.testing.assert_allclose(
        weights["out"]["kernel"], plain["out"]["kernel"] - rate * decay, rtol=1e-12
    )
    np.testing.assert_array_equal(weights["out"]["bias"], plain["out"]["bias"])
    np.testing.assert_array_equal(weights["scale"], plain["scale"])


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("width", [8, 32])
def test_linear_maps_of_a_wider_model_learn_at_a_smaller_rate_and_decay_as_before(width):
    params = {
        "embedding": np.ones((3, width)),
        "out": {"kernel": np.ones((2, width)), "bias": np.ones(width)},
    }
    gradients = jax.tree.map(
        lambda leaf: 3 * np.cos(np.arange(leaf.size)).reshape(leaf.shape), params
    )
    usual = Adam(schedule=Constant(value=0.5), weight_decay=0.1, epsilon=1e-8)
    updates = []
    for optimizer in (usual, replace(usual, base_width=8)):
        init, update = compiled(optimizer)
        _, state = update(gradients, init(params), params)
        updates.append(jax.device_get(update(gradients, state, params)[0]))
    one, ours = updates
    np.testing.assert_array_equal(ours["embedding"], one["embedding"])
    np.testing.assert_array_equal(ours["out"]["bias"], one["out"]["bias"])
    decay = -0.5 * 0.1
    slowed = (one["out"]["kernel"] - decay) * 8 / width + decay
    np.testing.assert_allclose(ours["out"]["kernel"], slowed, rtol=1e-12)


@pytest.mark.usefixtures("float64")
def test_adadelta_is_algorithm_1():
    init, update = compiled(Adadelta(rho=0.9, epsilon=1e-3))
    state = init(np.zeros(3))
    gradients_, updates_ = np.zeros(3), np.zeros(3)  # running means of squares
    for gradient in np.random.default_rng(0).normal(0, 3, (4, 3)):
        found, state = update(gradient, state)
        gradients_ = 0.9 * gradients_ + 0.1 * gradient**2
        wanted = -np.sqrt(updates_ + 1e-3) / np.sqrt(gradients_ + 1e-3) * gradient
        updates_ = 0.9 * updates_ + 0.1 * wanted**2
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_gradient_descent_is_the_clipped_gradient():
    init, update = compiled(GradientDescent(schedule=Constant(value=0.5), clip=5.0))
    gradient = np.array([6.0, 8.0], np.float32)
    np.testing.assert_allclose(update(gradient, init(gradient))[0], [-1.5, -2.0], rtol=1e-6)
