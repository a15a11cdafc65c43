"""Looked-up rows, and the gradient of a row whose word stands at thousands of places."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.nn import embedding
from attnjax.nn.embedding import lookup
from attnjax.nn.platform import compiled_for

WORDS = np.minimum(np.random.default_rng(0).zipf(1.3, (8, 512)), 20) - 1
MOST = -(-(WORDS.size**2) // 20)
WEIGHT = np.random.default_rng(1).normal(0.3, 1, (*WORDS.shape, 4))


@pytest.mark.parametrize(
    ("dtype", "platform", "multiplied", "error"),
    [
        ("float32", "tpu", MOST, 1e-5),
        ("bfloat16", "cpu", MOST, 0.01),
        ("bfloat16", "tpu", MOST - 1, 0.01),
        ("bfloat16", "tpu", MOST, 0.01),
    ],
)
def test_rows_and_their_gradient(monkeypatch, dtype, platform, multiplied, error):
    monkeypatch.setattr(embedding, "MULTIPLIED", multiplied)
    table = jnp.asarray(np.random.default_rng(2).normal(size=(20, 4)), dtype)
    weight = jnp.asarray(WEIGHT, dtype)
    found, pull = jax.vjp(lambda table: lookup(table, jnp.asarray(WORDS)), table)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, table[WORDS])
    with compiled_for(platform):
        program = jax.jit(pull)
        multiplies = "dot_general" in str(jax.make_jaxpr(pull)(weight))
        (gradient,) = program(weight)
    assert multiplies == (dtype == "bfloat16" and platform == "tpu" and multiplied == MOST)
    assert gradient.dtype == dtype
    expected = np.zeros((20, 4))
    np.add.at(expected, WORDS, np.asarray(weight, np.float64))
    np.testing.assert_allclose(
        np.asarray(gradient, np.float64), expected, rtol=error, atol=error * abs(expected).mean()
    )
