"""Points of a function: the truth, the noise, and what the splits share."""

import numpy as np
import pytest

from attnjax.data.generated.regression import NoisyFunction, function
from attnjax.errors import UserError

SMALL = {"train": 6, "valid": 4, "test": 5}


def values(points: np.ndarray) -> np.ndarray:
    """The truth at the points, in one and many dimensions."""
    x = points[:, :-1].astype(float)
    return np.sum([2 * np.sin(c) + c**0.8 for c in x.T], 0) / np.sqrt(x.shape[1])


@pytest.mark.parametrize("dimensions", [1, 3])
def test_an_example_is_a_data_set(dimensions):
    corpus = NoisyFunction(**SMALL, dimensions=dimensions, sets=2).load()
    assert corpus.vocabularies.sizes == (None, None)
    train, valid, test = (corpus.splits[split] for split in ("train", "valid", "test"))
    assert len(train) == len(valid) == len(test) == 2
    for learned, checked, tested in zip(train, valid, test, strict=True):
        np.testing.assert_array_equal(learned.source, learned.target)
        for example, count in ((learned, 6), (checked, 4), (tested, 5)):
            np.testing.assert_array_equal(example.source, learned.source)
            points = example.target
            assert (points.dtype, points.shape) == (np.float32, (count, dimensions + 1))
            assert (np.diff(points[:, 0]) > 0).all()
            assert (points[:, :-1] >= 0).all()
            assert (points[:, :-1] < 5).all()
        np.testing.assert_allclose(tested.target[:, -1], values(tested.target), rtol=1e-5)
        for noisy in (learned.target, checked.target):
            assert np.abs(noisy[:, -1] - values(noisy)).min() > 1e-3
    assert not set(test[0].target[:, 0]) & set(train[0].target[:, 0])
    assert not set(train[0].source[:, 0]) & set(train[1].source[:, 0])


def test_the_noise_has_its_deviation_and_the_function_its_own_in_every_dimension():
    for dimensions in (1, 9):
        (example,) = (
            NoisyFunction(train=20_000, noise=0.3, dimensions=dimensions).load().splits["train"]
        )
        noise = example.source[:, -1] - values(example.source)
        assert noise.mean() == pytest.approx(0, abs=0.01)
        assert noise.std() == pytest.approx(0.3, rel=0.02)
        assert values(example.source).std() == pytest.approx(values(grid()).std(), rel=0.02)
    (exact,) = NoisyFunction(noise=0).load().splits["train"]
    np.testing.assert_allclose(exact.source[:, -1], values(exact.source), rtol=1e-5)


def grid() -> np.ndarray:
    return np.linspace(0, 5, 10_001)[:, None].repeat(2, 1)


def test_the_function_is_the_books():
    x = np.array([0.0, 1.0, 2.5])
    expected = [0, 2 * np.sin(1) + 1, 2 * np.sin(2.5) + 2.5**0.8]
    np.testing.assert_allclose(function(x[:, None]), expected)


def test_the_seed_alone_decides():
    def points(task, split="train", number=0):
        return task.load().splits[split][number].target

    task = NoisyFunction(**SMALL, sets=2)
    for split in ("train", "valid", "test"):
        np.testing.assert_array_equal(points(task, split), points(NoisyFunction(**SMALL), split))
        assert (points(task, split) != points(NoisyFunction(**SMALL, seed=1), split)).any()
        assert (points(task, split, 1) != points(NoisyFunction(**SMALL, seed=1), split)).any()
    # more points to test with leave those to learn from as they are
    more = NoisyFunction(train=6, valid=1, test=99)
    np.testing.assert_array_equal(points(more), points(task))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"train": 1}, "task.train: wanted .*; got .*1"),
        ({"valid": 0}, "task.valid: wanted .*; got .*0"),
        ({"test": 0}, "task.test: wanted .*; got .*0"),
        ({"sets": 0}, "task.sets: wanted .*; got .*0"),
        ({"dimensions": 0}, "task.dimensions: wanted .*; got .*0"),
        ({"noise": -0.5}, "task.noise: wanted .*; got .*-0.5"),
        ({"seed": -1}, "task.seed: wanted .*; got .*-1"),
    ],
)
def test_fields_out_of_range(load, fields, message):
    with pytest.raises(UserError, match=message):
        load(NoisyFunction(**fields))
