from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.training.optimizers import Adadelta, Adam, GradientDescent
from attnjax.training.schedules import Constant, Noam


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("clip", [None, 1.0])
def test_adam_is_algorithm_1_on_clipped_gradients(clip):
    schedule = Noam(width=4, warmup=2)
    optimizer = Adam(schedule=schedule, b1=0.8, b2=0.9, epsilon=1e-3, clip=clip)
    transform = optimizer.make()
    params = {"a": jnp.zeros(2), "b": jnp.zeros(1)}
    state = transform.init(params)
    first = second = np.zeros(3)
    for step, gradient in enumerate(np.random.default_rng(0).normal(0, 3, (4, 3)), start=1):
        updates, state = transform.update(
            {"a": jnp.asarray(gradient[:2]), "b": jnp.asarray(gradient[2:])}, state, params
        )
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
    params = {"out": {"kernel": jnp.ones(2), "bias": jnp.ones(2)}, "scale": jnp.ones(2)}
    gradients = {"out": {"kernel": jnp.ones(2), "bias": -jnp.ones(2)}, "scale": jnp.ones(2)}
    updates = []
    for optimizer in (Adam(weight_decay=decay), Adam()):
        transform = replace(optimizer, schedule=Constant(value=rate)).make()
        updates.append(transform.update(gradients, transform.init(params), params)[0])
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
        "embedding": jnp.ones((3, width)),
        "out": {"kernel": jnp.ones((2, width)), "bias": jnp.ones(width)},
    }
    gradients = jax.tree.map(
        lambda leaf: 3 * jnp.cos(jnp.arange(leaf.size)).reshape(leaf.shape), params
    )
    usual = Adam(schedule=Constant(value=0.5), weight_decay=0.1, epsilon=1e-8)
    updates = []
    for optimizer in (usual, replace(usual, base_width=8)):
        transform = optimizer.make()
        _, state = transform.update(gradients, transform.init(params), params)
        updates.append(transform.update(gradients, state, params)[0])
    one, ours = updates
    np.testing.assert_array_equal(ours["embedding"], one["embedding"])
    np.testing.assert_array_equal(ours["out"]["bias"], one["out"]["bias"])
    decay = -0.5 * 0.1
    slowed = (one["out"]["kernel"] - decay) * 8 / width + decay
    np.testing.assert_allclose(ours["out"]["kernel"], slowed, rtol=1e-12)


@pytest.mark.usefixtures("float64")
def test_adadelta_is_algorithm_1():
    transform = Adadelta(rho=0.9, epsilon=1e-3).make()
    state = transform.init(jnp.zeros(3))
    gradients_, updates_ = np.zeros(3), np.zeros(3)  # running means of squares
    for gradient in np.random.default_rng(0).normal(0, 3, (4, 3)):
        update, state = transform.update(jnp.asarray(gradient), state)
        gradients_ = 0.9 * gradients_ + 0.1 * gradient**2
        wanted = -np.sqrt(updates_ + 1e-3) / np.sqrt(gradients_ + 1e-3) * gradient
        updates_ = 0.9 * updates_ + 0.1 * wanted**2
        np.testing.assert_allclose(update, wanted, rtol=1e-6)


def test_gradient_descent_is_the_clipped_gradient():
    transform = GradientDescent(schedule=Constant(value=0.5), clip=5.0).make()
    gradient = jnp.asarray([6.0, 8.0])
    update, _ = transform.update(gradient, transform.init(gradient))
    np.testing.assert_allclose(update, [-1.5, -2.0], rtol=1e-6)
