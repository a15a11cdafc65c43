"""The feed-forward networks against their equations in NumPy, and as one another."""

from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy.special import expit
from scipy.stats import norm as normal

from attnjax.models.feed_forward import (
    Activation,
    ConvolutionFeedForward,
    FeedForward,
    FeedForwardBase,
    GatedFeedForward,
    NoFeedForward,
)
from tests import jitted

RANDOM = np.random.default_rng(0)
D, F = 4, 6
X = RANDOM.normal(size=(2, 3, D))
# Hendrycks and Gimpel 2016, section 2; Ramachandran et al. 2017
ACTIVATED = {
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "gelu": lambda x: x * normal.cdf(x),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * expit(x),
    "sigmoid": expit,
    "identity": lambda x: x,
}
ALL = tuple(ACTIVATED)


def random_parameters(network: FeedForwardBase) -> Any:
    shapes = jax.eval_shape(
        lambda: network.init(jax.random.key(0), X, deterministic=True)["params"]
    )
    return jax.tree.map(lambda leaf: RANDOM.normal(size=leaf.shape), shapes)


def apply(network: FeedForwardBase, parameters: Any, x: Any = X) -> Any:
    return jitted.apply(network, {"params": parameters}, x, deterministic=True)


def test_there_is_an_oracle_for_every_activation():
    assert set(get_args(Activation.__value__)) == set(ACTIVATED)


@pytest.mark.parametrize("activation", ALL)
def test_the_network_equals_its_equation(activation, float64):
    """Vaswani et al. 2017, eq. 2."""
    network = FeedForward(width=F, activation=activation)
    parameters = random_parameters(network)
    hidden, out = parameters["hidden"], parameters["out"]
    inner = ACTIVATED[activation](X @ hidden["kernel"] + hidden["bias"])
    expected = inner @ out["kernel"] + out["bias"]
    np.testing.assert_allclose(apply(network, parameters), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("activation", ALL)
def test_the_gated_network_equals_its_equation(activation, float64):
    """Shazeer 2020, eq. 6."""
    network = GatedFeedForward(width=F, activation=activation)
    parameters = random_parameters(network)
    assert jax.tree.map(np.shape, parameters) == {
        "gate": {"kernel": (D, F)},
        "hidden": {"kernel": (D, F)},
        "out": {"kernel": (F, D)},
    }
    gate, hidden, out = (parameters[name]["kernel"] for name in ("gate", "hidden", "out"))
    expected = (ACTIVATED[activation](X @ gate) * (X @ hidden)) @ out
    np.testing.assert_allclose(apply(network, parameters), expected, rtol=0, atol=1e-12)
    if activation != "relu":  # which has a corner
        read = jax.jit(lambda x: apply(network, parameters, x))
        check_grads(read, (X,), order=1, modes=("rev",))


def test_two_convolutions_of_width_one_are_the_network(float64):
    network, convolution = FeedForward(width=F), ConvolutionFeedForward(width=F)

    parameters = random_parameters(network)

    def loss(part: FeedForwardBase, parameters: Any, x: Any) -> Any:
        result = apply(part, parameters, x)
        return (result * jnp.sin(jnp.arange(result.size).reshape(result.shape))).sum(), result

    def as_convolution(parameters: Any, x: Any) -> Any:
        kernels = jax.tree.map(lambda leaf: leaf[None] if leaf.ndim == 2 else leaf, parameters)
        return loss(convolution, kernels, x)

    @jax.jit
    def both(parameters: Any, x: Any) -> Any:
        widened = jax.grad(as_convolution, argnums=(0, 1), has_aux=True)(parameters, x)
        plain = jax.grad(lambda p, x: loss(network, p, x), (0, 1), has_aux=True)(parameters, x)
        return jax.tree.leaves(widened), jax.tree.leaves(plain)

    for found, wanted in zip(*both(parameters, X), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def test_one_seed_draws_the_same_numbers_for_both():
    drawn, widened = (
        jitted.init(part, jax.random.key(3), X, deterministic=True)["params"]
        for part in (FeedForward(width=F), ConvolutionFeedForward(width=F))
    )
    for found, wanted in zip(jax.tree.leaves(widened), jax.tree.leaves(drawn), strict=True):
        np.testing.assert_array_equal(found.reshape(wanted.shape), wanted)


@pytest.mark.parametrize(
    "network", [FeedForward(width=F), ConvolutionFeedForward(width=F), GatedFeedForward(width=F)]
)
def test_no_position_sees_another(network, float64):
    parameters = random_parameters(network)
    slopes = jax.jit(jax.jacrev(lambda x: apply(network, parameters, x[None])[0]))(X[0])
    strength = np.abs(slopes).sum((1, 3))  # [T, T]
    assert (strength[~np.eye(3, dtype=bool)] == 0).all()
    assert (np.diag(strength) > 0).all()


def test_no_network_gives_nothing_and_has_no_parameters():
    network = NoFeedForward()
    assert network.init(jax.random.key(0), X, deterministic=True) == {}
    assert (np.asarray(network.apply({}, X, deterministic=True)) == np.zeros_like(X)).all()
