"""The Nadaraya-Watson estimator: padding, leave-one-out, and the width that it learns."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.base import Normalize
from attnjax.attention.attention import Attention
from attnjax.attention.score.kernel import Epanechnikov, Gaussian, LearnedGaussian
from attnjax.data.batch_plan import Batch
from attnjax.data.generated.regression import NoisyFunction
from attnjax.errors import UserError
from attnjax.models.kernel_regression import KernelRegression
from attnjax.training.objectives.squared_error import SquaredError
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Recipe, Training
from attnjax.training.step import State, on_one_device, train_step
from tests import jitted
from tests.attention import oracle

WIDTH = 0.4
MODEL = KernelRegression(attention=Attention(score=Gaussian(bandwidth=WIDTH)))


def points(count: int, D: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, D + 1))


def estimate(known: np.ndarray, x: np.ndarray, width: float = WIDTH) -> float:
    """Watson 1964 in float64: a query's prediction."""
    return float(kernel_mean(known, x, width))


def kernel_mean(known, x, width):
    kernel = np.exp(-((known[:, :-1] - x) ** 2).sum(-1) / (2 * width**2))
    return kernel @ known[:, -1] / kernel.sum()


def predict(model, source, given, *, deterministic=True, params=None):
    variables = {"params": params or {}}
    return jitted.apply(model, variables, source, given, deterministic=deterministic)


def padded(sets, length: int) -> np.ndarray:
    rows = [np.pad(s, ((0, length - len(s)), (0, 0)), constant_values=np.nan) for s in sets]
    return np.stack(rows)


@pytest.mark.parametrize("D", [1, 3])
def test_predicts_the_weighted_mean_of_the_points_that_are_there(D, float64):
    known, asked = (
        [points(count, D, seed) for seed, count in enumerate(counts)] for counts in ((6, 4), (3, 5))
    )
    source, given = padded(known, 6), padded(asked, 5)
    found = predict(MODEL, source, given)
    assert np.isfinite(found).all()
    weights = jitted.call(MODEL, "alignment", {}, source, given)
    assert weights.shape == (2, 5, 6)
    for row, (own, queries) in enumerate(zip(known, asked, strict=True)):
        expected = [estimate(own, x) for x in queries[:, :-1]]
        np.testing.assert_allclose(found[row, : len(queries)], expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(weights[row, :, len(own) :], 0)
        shown = weights[row, : len(queries), : len(own)] @ own[:, -1]
        np.testing.assert_allclose(shown, expected, rtol=0, atol=1e-12)
    # what is to be predicted has no part in it
    np.testing.assert_array_equal(predict(MODEL, source, given * [*[1] * D, 0]), found)


def test_gradients_equal_the_oracles(float64):
    known, asked = points(6, 2, 0), points(3, 2, 1)
    model = KernelRegression(attention=Attention(score=LearnedGaussian()))

    def loss(given):
        params = {"attention": {"score": {"log_bandwidth": given["log_bandwidth"]}}}
        found = model.apply(
            {"params": params}, given["known"][None], given["asked"][None], deterministic=True
        )
        return jnp.sin(found).sum()

    def by_hand(given):
        width = np.exp(given["log_bandwidth"])
        return sum(np.sin(kernel_mean(given["known"], x, width)) for x in given["asked"][:, :-1])

    given = {"known": known, "asked": asked, "log_bandwidth": np.array(np.log(WIDTH))}
    wanted = oracle.gradient(by_hand, given)
    for name, slope in jax.jit(jax.grad(loss))(given).items():
        np.testing.assert_allclose(slope, wanted[name], rtol=0, atol=1e-12)


def test_a_row_of_filler_predicts_nothing():
    filler = np.full((1, 4, 2), np.nan, np.float32)
    np.testing.assert_array_equal(predict(MODEL, filler, filler), np.zeros((1, 4)))


@pytest.mark.parametrize("D", [1, 3])
def test_in_training_every_point_is_predicted_from_the_others(D, float64):
    known = points(6, D, 0)
    given = padded([known], 8)
    found = predict(MODEL, given, given, deterministic=False)[0]
    expected = [estimate(np.delete(known, i, 0), known[i, :-1]) for i in range(6)]
    np.testing.assert_allclose(found[:6], expected, rtol=0, atol=1e-12)
    assert not np.allclose(found[:6], predict(MODEL, given, given)[0, :6])
    # the same as taking the point away, also where nothing else is in reach
    compact = KernelRegression(
        attention=Attention(score=Epanechnikov(bandwidth=WIDTH), align=Normalize())
    )
    left_out = predict(compact, given, given, deterministic=False)[0]
    for i in range(6):
        removed = predict(compact, np.delete(known, i, 0)[None], known[None, i : i + 1])
        np.testing.assert_allclose(left_out[i], removed[0, 0], rtol=0, atol=1e-12)


def test_other_queries_are_refused_in_training():
    with pytest.raises(ValueError, match=r"its points, \(1, 6, 2\); got \(1, 3, 2\)"):
        predict(MODEL, np.ones((1, 6, 2)), np.ones((1, 3, 2)), deterministic=False)


def test_text_is_refused():
    assert MODEL.with_vocabularies(None, None) == MODEL
    with pytest.raises(UserError, match="KernelRegression wants a vocabulary of neither side"):
        MODEL.with_vocabularies(11, 11)


def test_the_width_becomes_the_best_one_of_leave_one_out(float64):
    """The training step's optimum against a search over widths in NumPy."""
    corpus = NoisyFunction(sets=2).load()
    known = np.stack([np.float64(example.source) for example in corpus.splits["train"]])

    def error(width: float) -> float:
        squares = [
            (estimate(np.delete(own, i, 0), own[i, :-1], width) - own[i, -1]) ** 2
            for own in known
            for i in range(len(own))
        ]
        return float(np.mean(squares))

    widths = np.geomspace(0.05, 1.0, 200)
    best = widths[np.argmin([error(width) for width in widths])]
    model = KernelRegression(attention=Attention(score=LearnedGaussian()))
    optimizer = Adam(schedule=Constant(value=0.03))
    recipe = Recipe(model=model, objective=SquaredError(), optimizer=optimizer, training=Training())
    batch = Batch(jnp.asarray(known), jnp.asarray(known))
    params = jitted.init(model, jax.random.key(0), *batch[:2], deterministic=True)["params"]
    step = partial(train_step, recipe=recipe, over_devices=on_one_device)

    @jax.jit
    def train(state: State):
        return jax.lax.scan(lambda state, _: step(state, batch), state, length=400)

    state = State(jnp.zeros((), int), params, optimizer.make().init(params), (), jax.random.key(0))
    state, metrics = train(state)
    width = float(jnp.exp(state.params["attention"]["score"]["log_bandwidth"]))
    assert width == pytest.approx(best, rel=0.01)
    assert 0.1 < best < 0.6
    np.testing.assert_allclose(metrics["loss"][0], error(1.0), rtol=1e-12)
    np.testing.assert_allclose(metrics["loss"][-1], error(width), rtol=1e-4)
