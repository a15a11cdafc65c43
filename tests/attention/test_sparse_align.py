"""Sparse aligns against the oracle, their limits and their gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax.test_util import check_grads

from attnjax.attention.align.base import softmax
from attnjax.attention.align.one_hot import HardMax
from attnjax.attention.align.sparse import entmax15, sparsemax, top_k
from attnjax.errors import UserError
from tests import jitted
from tests.attention import oracle

T, S = 3, 6
PROJECTIONS = {"sparsemax": sparsemax, "entmax15": entmax15}
each_projection = pytest.mark.parametrize("name", PROJECTIONS)
rows = st.lists(st.lists(st.floats(-50, 50), min_size=S, max_size=S), min_size=T, max_size=T).map(
    np.array
)
masks = st.lists(st.lists(st.booleans(), min_size=S, max_size=S), min_size=T, max_size=T).map(
    np.array
)


@each_projection
@given(rows, masks)
def test_equals_the_oracle(name, logits, mask):
    with jax.enable_x64(True):
        weights = np.asarray(jax.jit(PROJECTIONS[name])(logits, mask))
    expected = getattr(oracle, name)(logits, mask)
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(weights.sum(-1), mask.any(-1), rtol=0, atol=1e-12)
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()


@each_projection
@given(rows, st.integers(-100, 100))
def test_a_shift_of_the_logits_moves_nothing(name, logits, shift):
    logits = np.round(logits * 16) / 16
    align = jax.jit(PROJECTIONS[name])
    none = np.ones(logits.shape, bool)
    np.testing.assert_array_equal(align(logits, none), align(logits + shift, none))
    np.testing.assert_array_equal(align(logits, none), align(logits, None))


@given(rows.map(lambda logits: logits / 20))
def test_entmax_is_between_softmax_and_sparsemax(logits):
    """In its support, and in its largest weight."""
    aligns = softmax, entmax15, sparsemax
    dense, between, sparse = (np.asarray(jax.jit(align)(logits)) for align in aligns)
    assert ((sparse > 0) <= (between > 0)).all()
    assert ((between > 0) <= (dense > 0)).all()
    assert (sparse.max(-1) >= between.max(-1) - 1e-6).all()
    assert (between.max(-1) >= dense.max(-1) - 1e-6).all()


def drawn(*shape):
    return np.random.default_rng(0).normal(size=shape) * 1.5


@pytest.mark.parametrize(
    "align",
    [*PROJECTIONS.values(), lambda logits, mask: top_k(logits, mask, 3)],
    ids=[*PROJECTIONS, "top_k"],
)
def test_gradients_equal_differences(align, float64):
    logits, mask = drawn(T, S), np.random.default_rng(1).random((T, S)) < 0.7
    mask[0] = False
    read = jax.jit(lambda x: align(x, mask))
    assert ((np.asarray(read(logits)) == 0) & mask).any()
    check_grads(read, (logits,), order=2, rtol=1e-5)
    slopes = np.asarray(jax.jit(jax.jacrev(read))(logits))
    assert (slopes[:, :, ~mask] == 0).all()
    assert (slopes[0] == 0).all()


@each_projection
def test_many_keys_of_one_logit_share_evenly(name):
    """Rounding errors do not add up over the keys."""
    weights = np.asarray(jax.jit(PROJECTIONS[name])(np.full((1, 5_000), 7.0)))
    np.testing.assert_allclose(weights, 1 / 5_000, rtol=1e-4)
    np.testing.assert_allclose(weights.sum(), 1, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("spread", [0.3, 2.0])
@each_projection
def test_many_keys_in_half_precision_are_computed_in_float32(name, spread, dtype):
    """In bfloat16 no count passes 256 and no running sum of small numbers goes on."""
    logits = jnp.asarray(np.random.default_rng(0).normal(size=(2, 2_000)) * spread, dtype)
    weights = jax.jit(PROJECTIONS[name])(logits)
    assert weights.dtype == dtype
    found = np.asarray(weights, np.float64)
    expected = getattr(oracle, name)(np.asarray(logits, np.float64), np.ones(logits.shape, bool))
    rounding = float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(found, expected, rtol=rounding, atol=1e-6)
    np.testing.assert_allclose(found.sum(-1), 1, rtol=rounding)


@each_projection
def test_a_logit_far_below_or_infinite_has_no_weight(name):
    logits = np.array([[3.0, -np.inf, 2.5, -1e30]])
    align = jax.jit(PROJECTIONS[name])
    np.testing.assert_array_equal(align(logits), align(logits, logits > 0))
    slopes = np.asarray(jax.jit(jax.grad(lambda x: (align(x) ** 2).sum()))(logits))
    assert np.isfinite(slopes).all()
    assert (slopes[0, 1::2] == 0).all()


@given(rows, masks, st.sampled_from([1, 2, S + 2]))
def test_top_k_is_the_softmax_of_the_largest(logits, mask, k):
    expected = np.zeros((T, S), bool)
    for row, allowed, kept in zip(logits, mask, expected, strict=True):
        order = sorted(np.flatnonzero(allowed), key=lambda s: -row[s])
        kept[order[:k]] = True
    with jax.enable_x64(True):
        weights = np.asarray(jax.jit(top_k, static_argnums=2)(logits, mask, k))
    np.testing.assert_allclose(weights, oracle.softmax(logits, expected), rtol=0, atol=1e-14)


def test_top_k_of_all_keys_is_softmax_and_of_one_is_hard():
    logits, mask = np.float32(drawn(T, S)), np.random.default_rng(1).random((T, S)) < 0.7

    @jax.jit
    def pairs(logits, mask):
        masks = mask, None
        whole = [(top_k(logits, m, k), softmax(logits, m)) for k in (S, S + 5) for m in masks]
        return whole, top_k(logits, mask, 1), top_k(jnp.zeros((1, S)), None, 2)

    whole, first, equal = pairs(logits, mask)
    for found, expected in whole:
        np.testing.assert_array_equal(found, expected)
    hardest = jitted.apply(HardMax(), {}, logits, mask, None)
    np.testing.assert_array_equal(first, hardest)
    np.testing.assert_array_equal(equal, [[0.5, 0.5, 0, 0, 0, 0]])


def test_a_k_below_one_is_refused():
    with pytest.raises(UserError, match="the k of top_k must be at least 1; got 0"):
        top_k(jnp.zeros((1, S)), None, 0)
