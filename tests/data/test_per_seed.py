"""Every run its own example."""

import numpy as np
import pytest

from attnjax.config.constraints import check_fields
from attnjax.data.batching import Batching, in_order
from attnjax.data.generated.regression import NoisyFunction
from attnjax.data.per_seed import DatasetPerSeed
from attnjax.errors import UserError

EXAMPLES = NoisyFunction(train=6, sets=3).load().splits["train"]


@pytest.mark.parametrize("multiple", [1, 4])
def test_a_run_sees_the_example_of_its_number_at_every_step(multiple):
    batching = DatasetPerSeed(epoch=7, batch_size_multiple=multiple)
    plan = batching.plan(EXAMPLES)
    assert plan.per_epoch == 7
    assert set(plan.shapes) == {(multiple, 6, 6)}
    for seed, example in enumerate(EXAMPLES):
        (own,) = batching.examples_of_seed(EXAMPLES, seed)
        for step in (0, 7, 20):
            batch = plan.batch(step, seed)
            np.testing.assert_array_equal(batch.source[0], example.source)
            np.testing.assert_array_equal(batch.target[0], own.target)
            assert np.isnan(batch.target[1:]).all()
            assert batch.source.shape == (multiple, 6, 2)


def test_all_examples_are_there_to_validate_on():
    indices = [index[0] for index, _ in in_order(EXAMPLES, DatasetPerSeed(batch_size_multiple=2))]
    assert sorted(indices) == [0, 1, 2]


def test_a_seed_too_many_is_refused():
    batching = DatasetPerSeed()
    for refused in (batching.plan(EXAMPLES).batch, batching.examples_of_seed):
        arguments = (0, 3) if refused != batching.examples_of_seed else (EXAMPLES, 3)
        with pytest.raises(UserError, match="seed 3 needs 4 examples, and the split has 3"):
            refused(*arguments)
    with pytest.raises(UserError, match="batching.epoch: wanted .*; got .*0"):
        check_fields(DatasetPerSeed(epoch=0), "batching")


def test_ordinary_batching_gives_a_run_all():
    assert Batching().examples_of_seed(EXAMPLES, 1) is EXAMPLES
