import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.training.optimizers import Adadelta, Adam, GradientDescent
from attnjax.training.schedules import Constant, Cosine, Halving, InverseSquareRoot, Noam


@pytest.mark.parametrize("step", [1, 3, 399, 400, 401, 10_000])
def test_schedules_are_the_printed_formulae(step):
    noam = 2.0 * 64**-0.5 * min(step**-0.5, step * 400**-1.5)
    np.testing.assert_allclose(Noam(width=64, warmup=400, factor=2.0).rate(step), noam, rtol=1e-6)
    # fairseq, inverse_square_root_schedule.py: lr_step and decay_factor
    lr_step, decay_factor = (5e-3 - 1e-7) / 400, 5e-3 * 400**0.5
    fairseq = 1e-7 + step * lr_step if step < 400 else decay_factor * step**-0.5
    schedule = InverseSquareRoot(peak=5e-3, warmup=400, start=1e-7)
    np.testing.assert_allclose(schedule.rate(step), fairseq, rtol=1e-6)
    assert Constant(value=0.25).rate(step) == 0.25


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


def test_a_rate_is_halved_on_time():
    schedule = Halving(value=0.8, after=5, every=3)
    wanted = [0.8, 0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.1]  # updates 1 to 11
    rates = [float(schedule.rate(step)) for step in range(1, 12)]
    np.testing.assert_allclose(rates, wanted, rtol=1e-6)


def test_a_cosine_falls_from_the_peak_to_nothing():
    schedule = Cosine(peak=0.8, warmup=4, decay=6)
    half = 0.4 * (1 + np.sqrt(0.5))  # after a quarter of the way down: cos 45 degrees
    for step, wanted in {1: 0.2, 4: 0.8, 5.5: half, 7: 0.4, 10: 0.0, 11: 0.0}.items():
        np.testing.assert_allclose(schedule.rate(step), wanted, rtol=1e-6, atol=1e-7)


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
