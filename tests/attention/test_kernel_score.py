"""Kernels against loops over points in float64: values, gradients, and what equals what."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from attnjax.attention.align.base import Normalize, Softmax, Uniform
from attnjax.attention.attention import Attention
from attnjax.attention.mask import ExcludeSelf
from attnjax.attention.position import Positions
from attnjax.attention.score.base import Dot, dot
from attnjax.attention.score.kernel import (
    Boxcar,
    Epanechnikov,
    Gaussian,
    LearnedGaussian,
    SquaredExponential,
    Triangular,
    gaussian,
    squared_distance,
)
from attnjax.errors import UserError
from tests import jitted
from tests.attention import oracle

WIDTH = 1.3
KERNELS = {
    Gaussian: lambda u: -u * u / 2,
    LearnedGaussian: lambda u: -u * u / 2,
    SquaredExponential: lambda u: math.exp(-u * u / 2),
    Boxcar: lambda u: float(u <= 1),
    Epanechnikov: lambda u: max(0.0, 1 - u * u),
    Triangular: lambda u: max(0.0, 1 - u),
}
COMPACT = (Boxcar, Epanechnikov, Triangular)


def points(T: int, S: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys; the first query is the first key."""
    random = np.random.default_rng(seed)
    query, key = random.normal(size=(T, K)), random.normal(size=(S, K))
    query[0] = key[0]
    return query, key


def logits(score, query, key):
    return jitted.init_with_output(score, jax.random.key(0), query, key, Positions())[0]


def attended(score, align, query, key, value, mask=None, params=None):
    """The context, and the weights."""
    context, seen = jitted.apply(
        Attention(score=score, align=align),
        {"params": {"score": params or {}}},
        query,
        key,
        value,
        mask,
        deterministic=True,
        mutable=["attention"],
    )
    return context, seen["attention"]["weights"][0]


@pytest.mark.parametrize("K", [1, 4])
@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.__name__)
def test_equals_the_kernel_of_each_distance(kind, K, float64):
    query, key = points(3, 5, K)
    expected = [[KERNELS[kind](math.dist(q, k) / WIDTH) for k in key] for q in query]

    @jax.jit
    def read(query, key):
        single, twice = (query, key), (query[None].repeat(2, 0), key[None].repeat(2, 0))
        half = query.astype(jnp.float16), key.astype(jnp.float16)
        return [logits(kind(bandwidth=WIDTH), *given) for given in (single, twice, half)]

    alone, batched, half = read(query, key)
    np.testing.assert_allclose(alone, expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(batched, [expected, expected], rtol=0, atol=1e-14)
    assert half.dtype == jnp.float32


@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.__name__)
def test_gradients(kind, float64):
    query, key = points(3, 5, 2)
    query[0] += 0.2  # the triangle has no derivative at its peak
    variables = jitted.init(kind(bandwidth=WIDTH), jax.random.key(0), query, key, Positions())

    def read(variables, query, key):
        return jitted.apply(kind(bandwidth=WIDTH), variables, query, key, Positions())

    check_grads(read, (variables, query, key), order=1, modes=("fwd", "rev"))


@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.__name__)
def test_the_gradient_at_distance_zero_is_zero(kind):
    point = np.ones((1, 2))
    slopes = jax.jit(jax.grad(lambda q, k: logits(kind(), q, k).sum(), (0, 1)))
    for slope in slopes(point, point):
        np.testing.assert_array_equal(slope, np.zeros((1, 2)))


def test_the_width_of_a_kernel_is_learned_through_its_logarithm(float64):
    query, key = points(3, 5, 2)
    score = LearnedGaussian(bandwidth=WIDTH)
    params = jitted.init(score, jax.random.key(0), query, key, Positions())["params"]
    assert jax.tree.map(float, params) == {"log_bandwidth": pytest.approx(math.log(WIDTH))}
    for moved in (-3.0, 0.4):
        found = jitted.apply(
            score, {"params": {"log_bandwidth": np.asarray(moved)}}, query, key, Positions()
        )
        np.testing.assert_allclose(found, gaussian(query, key, math.exp(moved)), rtol=1e-14)


def test_near_points_far_from_the_origin_keep_their_distance():
    query, key = np.full((1, 1), 100.0, np.float32), np.full((1, 1), 100.01, np.float32)
    exact = (float(query[0, 0]) - float(key[0, 0])) ** 2
    np.testing.assert_allclose(squared_distance(query, key), [[exact]], rtol=1e-6)


@pytest.mark.parametrize("K", [1, 4])
def test_softmax_of_the_gaussian_is_the_normalized_exponential(K, float64):
    query, key = points(4, 6, K)
    value = np.random.default_rng(1).normal(size=(6, 2))
    for mask in (None, ExcludeSelf()):
        one = attended(Gaussian(bandwidth=WIDTH), Softmax(), query, key, value, mask)
        other = attended(SquaredExponential(bandwidth=WIDTH), Normalize(), query, key, value, mask)
        frozen = {"log_bandwidth": np.log(WIDTH)}
        learned = attended(LearnedGaussian(), Softmax(), query, key, value, mask, frozen)
        for first, second, third in zip(one, other, learned, strict=True):
            np.testing.assert_allclose(first, second, rtol=0, atol=1e-14)
            np.testing.assert_allclose(first, third, rtol=0, atol=1e-14)
    kernel = oracle.softmax(np.asarray(gaussian(query, key, WIDTH)), np.ones((4, 6), bool))
    np.testing.assert_allclose(
        attended(Gaussian(bandwidth=WIDTH), Softmax(), query, key, value)[0],
        kernel @ value,
        atol=1e-14,
    )


@pytest.mark.parametrize("kind", COMPACT, ids=lambda kind: kind.__name__)
def test_nothing_in_reach_has_no_weight_and_no_gradient(kind):
    key = np.array([[0.0], [0.5], [5.0]])
    query = np.array([[0.25], [2.5], [4.5]])
    value = np.array([[1.0], [3.0], [7.0]])

    @jax.jit
    def read(*given):
        def attend(*given):
            shown = attended(kind(), Normalize(), *given)
            return shown[0][1, 0], shown

        slopes, shown = jax.jacobian(attend, (0, 1, 2), has_aux=True)(*given)
        return *shown, slopes

    context, weights, slopes = read(query, key, value)
    np.testing.assert_allclose(weights, [[0.5, 0.5, 0], [0, 0, 0], [0, 0, 1]], atol=1e-7)
    np.testing.assert_allclose(context, [[2.0], [0.0], [7.0]], atol=1e-6)
    for slope in slopes:
        np.testing.assert_array_equal(slope, np.zeros((3, 1)))


@pytest.mark.parametrize("kind", COMPACT, ids=lambda kind: kind.__name__)
def test_without_end_it_is_the_mean(kind):
    query, key = points(4, 6, 2)
    value = np.arange(6.0)[:, None]
    for mask in (None, ExcludeSelf()):
        context, weights = attended(kind(bandwidth=math.inf), Normalize(), query, key, value, mask)
        mean, same = attended(Gaussian(), Uniform(), query, key, value, mask)
        np.testing.assert_allclose(weights, same, rtol=1e-6)
        np.testing.assert_allclose(context, mean, rtol=1e-6)


def test_what_is_no_kernel_is_not_normalized():
    with pytest.raises(UserError, match="wants a score that is a kernel.*; got Dot"):
        attended(Dot(), Normalize(), *points(2, 3, 4), np.ones((3, 1)))


@pytest.mark.parametrize("compare", [dot, squared_distance], ids=["a dot product", "a distance"])
def test_query_and_key_are_of_one_width(compare):
    with pytest.raises(UserError, match="wants queries and keys of equal width; got 4 and 3"):
        compare(np.ones((2, 4)), np.ones((5, 3)))


@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("width", [0.0, -1.0, math.nan])
def test_a_width_is_positive(kind, width):
    with pytest.raises(UserError, match=f"a kernel's bandwidth must be positive; got {width}"):
        logits(kind(bandwidth=width), np.ones((1, 1)), np.ones((1, 1)))
