"""Regressions in context: an independent program, moments, and what the splits share."""

import numpy as np
import pytest

from attnjax.data.generated.in_context_regression import InContextRegression
from attnjax.errors import UserError

SMALL = InContextRegression(train=40, valid=5, test=7, points=6, dimensions=3)


def arrays(task: InContextRegression, split: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """The known points [n, N, D+1] and the queries [n, D+1]."""
    examples = task.load().splits[split]
    return np.stack([e.source for e in examples]), np.stack([e.target[0] for e in examples])


def test_every_example_is_one_linear_function_of_its_own():
    """N > D points determine w: it predicts every other value, and is no other example's."""
    points, queries = arrays(SMALL)
    assert (points.dtype, points.shape, queries.shape) == (np.float32, (40, 6, 4), (40, 4))
    found = []
    for known, asked in zip(points.astype(float), queries.astype(float), strict=True):
        weights = np.linalg.solve(known[:3, :3], known[:3, 3])
        np.testing.assert_allclose(known[3:, :3] @ weights, known[3:, 3], atol=1e-3)
        np.testing.assert_allclose(asked[:3] @ weights, asked[3], atol=1e-3)
        found.append(weights)
    assert len(np.unique(np.round(found, 3), axis=0)) == 40


def test_moments_are_the_papers():
    points, queries = arrays(InContextRegression(train=20_000))
    assert points.shape == (20_000, 10, 11)
    x, y = points[..., :-1].astype(float), points[..., -1].astype(float)
    assert np.abs(x).max() <= 0.5
    assert np.quantile(x, [0, 0.25, 0.5, 0.75, 1]) == pytest.approx(
        [-0.5, -0.25, 0, 0.25, 0.5], abs=0.01
    )
    # y = w . x with w ~ N(0, I): E y^2 = 10 / 12
    assert (y**2).mean() == pytest.approx(10 / 12, rel=0.02)
    assert (queries[:, -1].astype(float) ** 2).mean() == pytest.approx(10 / 12, rel=0.05)
    common = np.linalg.lstsq(x.reshape(-1, 10), y.reshape(-1), rcond=None)[0]
    assert np.abs(common).max() < 0.05, "no w serves all examples"
    wide = arrays(InContextRegression(train=200, width=4.0))[0]
    assert 1.9 < np.abs(wide[..., :-1]).max() <= 2


def test_splits_are_drawn_independently_by_the_seed():
    more = InContextRegression(train=60, valid=5, test=7, points=6, dimensions=3)
    for split in ("valid", "test"):
        np.testing.assert_array_equal(arrays(SMALL, split)[0], arrays(more, split)[0])
    assert (arrays(SMALL, "valid")[0] != arrays(SMALL, "test")[0][:5]).any()
    (of_three,), seeded = {type(SMALL.of_seed(3))}, SMALL.of_seed(3)
    assert of_three is InContextRegression
    assert seeded.seed == 3
    assert seeded.of_seed(4) == seeded
    assert (arrays(seeded)[0] != arrays(SMALL)[0]).any()
    digests = {task.load().digest("train") for task in (SMALL, seeded, more)}
    assert len(digests) == 3


def test_fields_out_of_range(load):
    with pytest.raises(UserError, match="task.width: wanted .*; got .*0"):
        load(InContextRegression(width=0.0))
