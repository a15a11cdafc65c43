"""The error on the test split against NumPy, and the picture of the weights."""

import math

import numpy as np
import pytest

from attnjax.attention.align import Uniform
from attnjax.attention.attend import Attention
from attnjax.attention.kernel import Gaussian
from attnjax.data.batches import Batching
from attnjax.data.one_each import OneEach
from attnjax.data.regression import Function
from attnjax.data.tasks import Copy
from attnjax.errors import UserError
from attnjax.evaluation import regression
from attnjax.evaluation.measures import Subject
from attnjax.models.kernel_regression import KernelRegression
from attnjax.models.transformer import Transformer

TASK = Function(train=25, test=23, sets=5)


def subject(attention: Attention, tokens: int = 100) -> Subject:
    batching = Batching(tokens=tokens, shapes=1, rows_multiple=2)
    return Subject(KernelRegression(attention=attention), {}, TASK.load(), batching)


def test_the_error_is_the_mean_over_all_sets_in_batches_of_any_size():
    """Average pooling predicts the mean of the known values everywhere."""
    squares = [
        (example.source[:, -1].astype(float).mean() - example.target[:, -1]) ** 2
        for example in TASK.load().splits["test"]
    ]
    # what is trained on few points is tested on however many there are
    for tokens in (40, 100, 1_000):
        found = regression.TestError().trained(subject(Attention(align=Uniform()), tokens))
        assert found == {"squared_error": pytest.approx(np.mean(squares), rel=1e-5)}


def test_a_run_with_an_example_of_its_own_is_tested_on_it():
    given = subject(Attention(align=Uniform()))._replace(batching=OneEach(rows_multiple=1))
    example = TASK.load().splits["test"][3]
    mean = example.source[:, -1].astype(float).mean()
    found = regression.TestError().trained(given._replace(seed=3))
    expected = np.mean((mean - example.target[:, -1]) ** 2)
    assert found == {"squared_error": pytest.approx(expected, rel=1e-5)}


def test_a_picture_has_neighbours_put_together():
    (picture,) = regression.TestError().pictures(subject(Attention(score=Gaussian(width=0.3))))
    example = TASK.load().splits["test"][0]
    keys, queries = np.array_split(np.arange(25), 10), np.array_split(np.arange(23), 10)
    shares = np.zeros((10, 10))
    for t, row in enumerate(queries):
        for query in example.target[row, 0]:
            kernel = np.exp(-((example.source[:, 0].astype(float) - query) ** 2) / (2 * 0.3**2))
            shares[t] += [kernel[column].sum() / kernel.sum() / len(row) for column in keys]
    np.testing.assert_allclose(picture["weights"], shares, atol=1e-4)
    np.testing.assert_allclose(np.sum(picture["weights"], 1), 1, atol=1e-3)
    for side, points in (("source", example.source), ("target", example.target)):
        labels = [*map(float, picture[side])]
        assert len(labels) == 10
        assert math.isclose(labels[0], points[:3, 0].mean(), abs_tol=0.06)
        assert labels == sorted(labels)


def test_what_cannot_be_measured_is_refused_early():
    regression.TestError().check(KernelRegression(), TASK.load())
    with pytest.raises(UserError, match="a model that predicts numbers; got Transformer"):
        regression.TestError().check(Transformer(), Copy(train=2, valid=1, test=1).load())
