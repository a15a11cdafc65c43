"""The temperature of a row by its entropy."""

import jax.numpy as jnp
import numpy as np

from attnjax.attention.align.base import adaptive_softmax
from tests.attention import oracle


def test_an_adaptive_temperature_follows_its_polynomial(float64):
    random = np.random.default_rng(0)
    logits = random.normal(size=(1, 3, 64)) * np.array([30.0, 1.0, 0.3])[:, None]
    mask = random.random((1, 3, 64)) < 0.8
    weights = adaptive_softmax(jnp.asarray(logits), jnp.asarray(mask))
    thetas = []
    for row, allowed, got in zip(logits[0], mask[0], weights[0], strict=True):
        plain = oracle.softmax(row[None], allowed[None])[0]
        entropy = -sum(p * np.log(p) for p in plain if p > 0)
        theta = (
            -0.037 * entropy**4 + 0.481 * entropy**3 - 2.3 * entropy**2 + 4.917 * entropy - 1.791
        )
        theta = max(theta, 1) if entropy > 0.5 else 1
        thetas.append(theta)
        np.testing.assert_allclose(
            got, oracle.softmax(theta * row[None], allowed[None])[0], atol=1e-12
        )
    assert thetas[0] == 1
    assert min(thetas[1:]) > 1
