"""The norms against their equations in NumPy, and their invariances."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn

from attnjax.nn.norm import LayerNorm, NoNorm, Norm, RMSNorm
from tests import jitted

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(1.0, 2.0, (3, 4, 5))
SCALE, BIAS = RANDOM.normal(1.0, 0.3, 5), RANDOM.normal(0.0, 0.3, 5)
PARAMETERS = {LayerNorm: {"scale": SCALE, "bias": BIAS}, RMSNorm: {"scale": SCALE}, NoNorm: {}}
NORMS = (LayerNorm(epsilon=0.1), RMSNorm(epsilon=0.1), NoNorm())


def oracle(norm: Norm, x: np.ndarray) -> np.ndarray:
    """Ba et al. 2016, eq. 4; Zhang and Sennrich 2019, eq. 4; complex steps pass."""
    match norm:
        case LayerNorm():
            centered = x - x.mean(-1, keepdims=True)
            variance = (centered**2).mean(-1, keepdims=True)
            return centered / np.sqrt(variance + norm.epsilon) * SCALE + BIAS
        case RMSNorm():
            return x / np.sqrt((x**2).mean(-1, keepdims=True) + norm.epsilon) * SCALE
    return x


def apply(norm: Norm, x: Any) -> np.ndarray:
    return np.asarray(jitted.apply(norm, {"params": PARAMETERS[type(norm)]}, x))


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: type(norm).__name__)
def test_equals_its_equation_with_gradient(norm, float64):
    direction = RANDOM.normal(size=X.shape)

    @jax.jit
    def read(x, direction):
        found, back = jax.vjp(lambda x: norm.apply({"params": PARAMETERS[type(norm)]}, x), x)
        return found, *back(direction)

    found, gradient = read(X, direction)
    np.testing.assert_allclose(found, oracle(norm, X), rtol=0, atol=1e-12)
    way = RANDOM.normal(size=X.shape)
    slope = (oracle(norm, X + 1e-30j * way) * direction).sum().imag / 1e-30
    assert (np.asarray(gradient) * way).sum() == pytest.approx(slope, rel=1e-10)


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: type(norm).__name__)
def test_the_first_parameters_leave_the_normalized_vector_as_it_is(norm):
    shapes = jax.tree.map(np.shape, PARAMETERS[type(norm)])
    first = jitted.init(norm, jax.random.key(0), np.float32(X)).get("params", {})
    assert jax.tree.map(jnp.shape, first) == shapes
    assert all((np.asarray(first[name]) == (name == "scale")).all() for name in first)


def test_what_each_norm_does_not_see(float64):
    """Layer norm sees neither shift nor scale of a vector, RMS norm no scale."""
    x, layer, rms = X, LayerNorm(epsilon=1e-30), RMSNorm(epsilon=1e-30)
    np.testing.assert_allclose(apply(layer, 3 * x + 7), apply(layer, x), atol=1e-10)
    np.testing.assert_allclose(apply(rms, 3 * x), apply(rms, x), atol=1e-12)
    assert abs(apply(rms, x + 7) - apply(rms, x)).max() > 0.1
    # and on centered vectors they are one
    centered = x - x.mean(-1, keepdims=True)
    expected = apply(rms, centered) + BIAS
    np.testing.assert_allclose(apply(layer, centered), expected, atol=1e-12)


def test_half_precision_computes_the_moments_in_float32():
    # in bfloat16 itself the mean of 300 would be off by 1, more than the deviation
    x = jnp.asarray(300 + np.tile([-2.0, 2.0], 32), jnp.bfloat16)
    ones, zeros = (jnp.asarray(np.full(64, number), jnp.bfloat16) for number in (1, 0))
    half = {"params": {"scale": ones, "bias": zeros}}
    found = jitted.apply(LayerNorm(), half, x)
    assert found.dtype == jnp.bfloat16
    np.testing.assert_allclose(np.asarray(found, np.float32), np.tile([-1.0, 1.0], 32), atol=1e-2)


@pytest.mark.parametrize("offset", [1e3, 1e4, 1e6])
def test_an_offset_of_all_features_costs_no_accuracy(offset):
    """E[x^2] - E[x]^2 would be wrong by a fifth at 1,000, and 0 at 10,000."""
    x = np.float32(offset + np.random.default_rng(0).normal(size=(8, 64)))
    found = jitted.apply(LayerNorm(), {"params": {"scale": np.ones(64), "bias": np.zeros(64)}}, x)
    centered = np.float64(x) - np.float64(x).mean(-1, keepdims=True)
    expected = centered / centered.std(-1, keepdims=True)
    # what is left is the rounding of the mean, half a unit of the offset's last place
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-7 * offset + 1e-5)


def test_layer_norm_is_flaxs_in_parameters_and_program():
    x, flaxs = np.float32(X), nn.LayerNorm(use_fast_variance=False)
    variables = jitted.init(flaxs, jax.random.key(0), x)
    programs = {
        jax.jit(module.apply).lower(variables, x).as_text() for module in (LayerNorm(), flaxs)
    }
    assert len(programs) == 1
