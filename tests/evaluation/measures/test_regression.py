"""The error on the test split against NumPy, and the picture of the weights."""

import numpy as np
import pytest

from attnjax.attention.align.base import Uniform
from attnjax.attention.attention import Attention
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
    assert [measurement.value for measurement in found] == [pytest.approx(expected, rel=1e-5)]


def test_what_cannot_be_measured_is_refused_early():
    regression.RegressionError().check(KernelRegression(), TASK.load())
    with pytest.raises(UserError, match="a model that predicts numbers; got Transformer"):
        regression.RegressionError().check(Transformer(), Copy(train=2, valid=1, test=1).load())
