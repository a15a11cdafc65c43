"""The error on the test split against NumPy, and the picture of the weights."""

import math

import numpy as np
import pytest

from attnjax.attention.align import Uniform
from attnjax.attention.attention import Attention
from attnjax.attention.kernel_score import Gaussian
from attnjax.data.batching import Batching
from attnjax.data.generated.regression import NoisyFunction
from attnjax.data.generated.sequences import Copy
from attnjax.data.per_seed import DatasetPerSeed
from attnjax.errors import UserError
from attnjax.evaluation.measures import regression
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.models.kernel_regression import KernelRegression
from attnjax.models.transformer import Transformer

TASK = NoisyFunction(train=25, test=23, sets=5)


def inputs(attention: Attention, tokens: int = 100) -> EvalInputs:
    batching = Batching(max_tokens=tokens, shapes=1, batch_size_multiple=2)
    return EvalInputs(KernelRegression(attention=attention), {}, TASK.load(), batching)


def test_the_error_is_the_mean_over_all_sets_in_batches_of_any_size():
    """Average pooling predicts the mean of the known values everywhere."""
    squares = [
        (example.source[:, -1].astype(float).mean() - example.target[:, -1]) ** 2
        for example in TASK.load().splits["test"]
    ]
    # what is trained on few points is tested on however many there are
    for tokens in (40, 100, 1_000):
        found = regression.RegressionError().after_training(
            inputs(Attention(align=Uniform()), tokens)
        )
        (one,) = found
        assert (one.key.name, one.better) == ("squared_error", "lower")
        assert one.value == pytest.approx(np.mean(squares), rel=1e-5)


def test_a_run_with_an_example_of_its_own_is_tested_on_it():
    given = inputs(Attention(align=Uniform()))._replace(
        batching=DatasetPerSeed(batch_size_multiple=1)
    )
    example = TASK.load().splits["test"][3]
    mean = example.source[:, -1].astype(float).mean()
    found = regression.RegressionError().after_training(given._replace(seed=3))
    expected = np.mean((mean - example.target[:, -1]) ** 2)
    assert [one.value for one in found] == [pytest.approx(expected, rel=1e-5)]


def test_a_picture_has_neighbors_put_together():
    (picture,) = regression.RegressionError().pictures(
        inputs(Attention(score=Gaussian(bandwidth=0.3)))
    )
    example = TASK.load().splits["test"][0]
    keys, queries = np.array_split(np.arange(25), 10), np.array_split(np.arange(23), 10)
    shares = np.zeros((10, 10))
    for t, row in enumerate(queries):
        for query in example.target[row, 0]:
            kernel = np.exp(-((example.source[:, 0].astype(float) - query) ** 2) / (2 * 0.3**2))
            shares[t] += [kernel[column].sum() / kernel.sum() / len(row) for column in keys]
    np.testing.assert_allclose(picture.weights, shares, atol=1e-4)
    np.testing.assert_allclose(np.sum(picture.weights, 1), 1, atol=1e-3)
    for side, points in (("source", example.source), ("target", example.target)):
        labels = [*map(float, getattr(picture, side))]
        assert len(labels) == 10
        assert math.isclose(labels[0], points[:3, 0].mean(), abs_tol=0.06)
        assert labels == sorted(labels)


def test_what_cannot_be_measured_is_refused_early():
    regression.RegressionError().check(KernelRegression(), TASK.load())
    with pytest.raises(UserError, match="a model that predicts numbers; got Transformer"):
        regression.RegressionError().check(Transformer(), Copy(train=2, valid=1, test=1).load())
