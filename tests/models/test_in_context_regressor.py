"""Attention as a regressor in context: the paper's construction, padding, queries alone."""

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.models.in_context_regressor import InContextRegressor
from tests import jitted

MODEL = InContextRegressor()
DRAWN = np.random.default_rng(0).normal(size=(2, 9, 4))
KNOWN, ASKED = DRAWN[:, :6], DRAWN[:, 6:]


def constructed(rate: float) -> dict:
    """Weights with which the layer is one step: von Oswald et al. 2023, proposition 1."""
    x_part, y_part = np.diag([1.0, 1, 1, 0]), np.diag([0.0, 0, 0, 1])
    # the head divides by sqrt(4)
    head = {"query": 2 * x_part, "key": x_part, "value": y_part}
    kernels = {name: {"kernel": kernel[:, None]} for name, kernel in head.items()}
    return {"attention": {**kernels, "out": {"kernel": -rate * y_part[None]}}}


def test_the_papers_weights_are_a_step_of_gradient_descent(float64):
    rate = 0.3
    found = jitted.apply(MODEL, {"params": constructed(rate)}, KNOWN, ASKED, deterministic=True)
    for known, asked, predicted in zip(KNOWN, ASKED, found, strict=True):
        # d/dw of sum (w . x - y)^2 / 2 at w = 0 is -sum y x
        weights = rate * sum(point[3] * point[:3] for point in known)
        np.testing.assert_allclose(predicted, asked[:, :3] @ weights, rtol=1e-12)


def test_the_value_at_a_query_is_not_read(float64):
    params = {"params": constructed(0.3)}
    other = ASKED.copy()
    other[..., -1] = 7
    found = [
        jitted.apply(MODEL, params, KNOWN, asked, deterministic=True) for asked in (ASKED, other)
    ]
    np.testing.assert_array_equal(*found)


def test_padding_is_not_read_and_each_query_sees_the_points_alone(float64):
    """By softmax too, whose words of padding would count."""
    for model in (MODEL, InContextRegressor(attention=MultiHead(head=Attention(), heads=1))):
        variables = jitted.init(model, jax.random.key(0), KNOWN, ASKED, deterministic=True)
        whole = jitted.apply(model, variables, KNOWN, ASKED, deterministic=True)
        padded = np.pad(KNOWN, ((0, 0), (0, 2), (0, 0)), constant_values=np.nan)
        found = jitted.apply(model, variables, padded, ASKED, deterministic=True)
        np.testing.assert_allclose(found, whole, rtol=1e-12)
        alone = jitted.apply(model, variables, KNOWN, ASKED[:, 1:2], deterministic=True)
        np.testing.assert_allclose(alone, whole[:, 1:2], rtol=1e-12)


def test_the_layer_has_four_matrices_and_no_other_weight():
    words = jnp.zeros((1, 2, 11))
    params = jax.eval_shape(
        lambda: MODEL.init(jax.random.key(0), words, words, deterministic=True)
    )["params"]
    assert sum(leaf.size for leaf in jax.tree.leaves(params)) == 4 * 11 * 11
