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

    def total(weights):
        penalties = coverage(weights, jnp.asarray(present))
        return penalties.sum(), penalties

    (value, penalties), slope = jax.jit(jax.value_and_grad(total, has_aux=True))(weights)
    assert value == pytest.approx(by_hand(weights), rel=1e-14)
    np.testing.assert_allclose(slope, oracle.gradient(by_hand, weights), rtol=0, atol=1e-13)
    assert penalties[0] == pytest.approx(sum((1 - weights[0, :2].sum(0)) ** 2), rel=1e-14)
