"""The doubly stochastic penalty by hand; in a training: test_variational."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.training.objectives.show_attend_tell import coverage
from tests.attention import oracle


def test_coverage_is_counted_by_hand(float64):
    random = np.random.default_rng(0)
    weights, present = random.random((2, 3, 4)), np.array([[1, 1, 0], [1, 1, 1]], bool)

    def by_hand(weights):
        return sum(
            (1 - sum(weights[b, t, i] for t in range(3) if present[b, t])) ** 2
            for b in range(2)
            for i in range(4)
        )

    value, slope = jax.value_and_grad(lambda w: coverage(w, jnp.asarray(present)).sum())(weights)
    assert value == pytest.approx(by_hand(weights), rel=1e-14)
    np.testing.assert_allclose(slope, oracle.gradient(by_hand, weights), rtol=0, atol=1e-13)
    one = coverage(jnp.asarray(weights), jnp.asarray(present))[0]
    assert one == pytest.approx(sum((1 - weights[0, :2].sum(0)) ** 2), rel=1e-14)
