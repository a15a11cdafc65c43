"""One step of gradient descent: a loop in NumPy, the best rate in closed form, a network's gap."""

import jax
import numpy as np
import pytest

from attnjax.data.batching import Batching
from attnjax.data.generated.in_context_regression import InContextRegression
from attnjax.data.generated.regression import NoisyFunction
from attnjax.data.generated.sequences import Copy
from attnjax.errors import UserError
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.evaluation.measures.gradient_step import OneGradientStep, best_step
from attnjax.models.in_context_regressor import InContextRegressor
from attnjax.models.transformer import Transformer
from attnjax.nn.initializers import NormalInit
from tests import jitted
from tests.models.test_in_context_regressor import constructed

TASK = InContextRegression(train=1, valid=1, test=29, points=6, dimensions=3)
POINTS = np.stack([example.source for example in TASK.load().splits["test"]]).astype(float)
QUERIES = np.stack([example.target[0] for example in TASK.load().splits["test"]]).astype(float)


def step_by_loop(points, query, rate):
    weights = np.zeros(len(query) - 1)
    for *x, y in points:
        weights = weights - rate * (np.zeros(len(x)) @ x - y) * np.array(x)
    return weights, weights @ query[:-1]


def loss(rate):
    predicted = [step_by_loop(p, q, rate)[1] for p, q in zip(POINTS, QUERIES, strict=True)]
    return ((np.array(predicted) - QUERIES[:, -1]) ** 2).mean()


def test_the_step_is_that_of_a_loop_and_no_rate_is_better():
    step = best_step(POINTS, QUERIES)
    for number in range(5):
        weights, predicted = step_by_loop(POINTS[number], QUERIES[number], step.rate)
        np.testing.assert_allclose(step.weights[number], weights, rtol=1e-12)
        np.testing.assert_allclose(step.predicted[number], predicted, rtol=1e-12)
    assert loss(step.rate) < min(loss(step.rate * 1.02), loss(step.rate * 0.98))


def test_the_best_rate_and_its_error_are_those_of_the_moments():
    """With variance s and fourth moment m of a coordinate: rate s / (m + (N + D - 2) s^2)."""
    examples = InContextRegression(train=1, valid=1, test=40_000).load().splits["test"]
    points = np.stack([example.source for example in examples])
    queries = np.stack([example.target[0] for example in examples])
    step = best_step(points, queries)
    s, m = 1 / 12, 1 / 80
    rate = s / (m + (10 + 10 - 2) * s**2)
    assert step.rate == pytest.approx(rate, rel=0.02)
    error = ((step.predicted - queries[:, -1]) ** 2).mean() / (queries[:, -1] ** 2).mean()
    assert error == pytest.approx(1 - 10 * s * rate, rel=0.02)
    assert error == pytest.approx(0.495, abs=0.01)


def inputs(params, tokens: int = 48) -> EvalInputs:
    batching = Batching(max_tokens=tokens, shapes=1, batch_size_multiple=4)
    return EvalInputs(InContextRegressor(), params, TASK.load(), batching)


def measured(params, tokens: int = 48) -> dict[str, float]:
    found = OneGradientStep().after_training(inputs(params, tokens))
    return {one.key.name: one.value for one in found}


def test_a_network_that_takes_the_step_has_no_gap():
    """29 examples in batches of 8, the last of which has rows of filler."""
    rate = best_step(POINTS, QUERIES).rate
    found = measured(constructed(rate))
    assert found["gap_to_one_step"] == pytest.approx(0, abs=1e-5)
    assert found["sensitivity_cosine"] == pytest.approx(1, abs=1e-6)
    half = measured(constructed(rate / 2), tokens=2_000)
    assert half["gap_to_one_step"] == pytest.approx(loss(rate / 2) / loss(rate) - 1, rel=1e-4)
    assert half["sensitivity_cosine"] == pytest.approx(1, abs=1e-6)
    assert half["relative_error"] == pytest.approx(loss(rate / 2) / loss(0), rel=1e-4)


def test_an_untrained_network_is_at_chance_which_is_the_answer_0():
    """With the small weights that the authors begin with."""
    model = InContextRegressor(initializer=NormalInit(std=(0.002 / 4) ** 0.5))
    params = jitted.init(model, jax.random.key(0), POINTS, QUERIES[:, None], deterministic=True)
    assert measured(params["params"])["relative_error"] == pytest.approx(1, abs=1e-3)


def test_a_sensitivity_across_the_steps_lowers_the_cosine():
    """Coordinates of the query swapped: the derivative is the step's, in another order."""
    params = constructed(best_step(POINTS, QUERIES).rate)
    params["attention"]["query"] = {"kernel": params["attention"]["query"]["kernel"][[1, 0, 2, 3]]}
    params = jax.tree.map(np.asarray, params)
    cosines = []
    for points, query in zip(POINTS, QUERIES, strict=True):
        weights = step_by_loop(points, query, 1.0)[0]
        cosines.append(weights @ weights[[1, 0, 2]] / (weights @ weights))
    assert measured(params)["sensitivity_cosine"] == pytest.approx(np.mean(cosines), abs=1e-5)


def test_what_cannot_be_measured_is_refused_early():
    OneGradientStep().check(InContextRegressor(), TASK.load())
    with pytest.raises(UserError, match="a model that predicts numbers; got Transformer"):
        OneGradientStep().check(Transformer(), Copy(train=2, valid=1, test=1).load())
    with pytest.raises(UserError, match="one point that is asked for.*; got one with 50"):
        OneGradientStep().check(InContextRegressor(), NoisyFunction().load())
