"""Sums are float32 or wider."""

import jax.numpy as jnp
import pytest

from attnjax.nn.dtypes import wide, widen


@pytest.mark.parametrize("narrow", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_half_precision_is_widened(narrow, float64):
    x = jnp.ones(2, narrow)
    assert wide(x) == wide(x.dtype) == wide(x, jnp.ones(1, jnp.float16)) == jnp.float32
    assert widen(x).dtype == jnp.float32
    assert wide(x, jnp.ones(1, jnp.float64)) == jnp.float64


def test_half_precisions_of_two_kinds_do_not_mix_into_a_narrow_one():
    assert wide(jnp.ones(1, jnp.bfloat16), jnp.ones(1, jnp.float16)) == jnp.float32
