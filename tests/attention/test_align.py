"""Softmax over the allowed keys."""

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.align import softmax
from tests.attention import oracle


def test_softmax_equals_the_oracle_also_forwards(float64):
    random = np.random.default_rng(0)
    logits, moved = random.normal(size=(2, 4, 5))
    allowed = random.random((4, 5)) < 0.6
    allowed[2] = False
    weights, slope = jax.jvp(lambda x: softmax(x, jnp.asarray(allowed)), (logits,), (moved,))
    np.testing.assert_allclose(weights, oracle.softmax(logits, allowed), rtol=0, atol=1e-15)
    stepped = oracle.softmax(logits + 1e-30j * moved, allowed).imag / 1e-30
    np.testing.assert_allclose(slope, stepped, rtol=0, atol=1e-15)


def test_softmax_does_not_see_a_shift():
    logits = jnp.asarray(np.random.default_rng(0).integers(-8, 8, (3, 4)), jnp.float32)
    np.testing.assert_array_equal(softmax(logits), softmax(logits + 1024))
    np.testing.assert_array_equal(softmax(logits), softmax(logits, jnp.ones((3, 4), bool)))


def test_masked_logits_may_be_anything():
    allowed = jnp.array([[True, False, True, False, False]])
    odd = jnp.array([[1.0, jnp.inf, 2.0, jnp.nan, -jnp.inf]])
    tame = jnp.where(allowed, odd, 0)
    read = jax.value_and_grad(lambda logits: softmax(logits, allowed)[0, 0])
    for found, expected in zip(read(odd), read(tame), strict=True):
        np.testing.assert_array_equal(found, expected)
