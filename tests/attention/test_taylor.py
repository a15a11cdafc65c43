"""Linear attention with the exponential's Taylor series: features of any sign."""

from functools import partial
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.mask import Causal, Padding
from attnjax.attention.position import Positions
from attnjax.attention.state import chunked
from attnjax.attention.state.recurrent import SignedLinearAttention, divided
from tests.attention import oracle

B, T, K, V = 2, 7, 3, 2
TAYLOR = SignedLinearAttention()
CALL: Any = partial(TAYLOR.apply, {})
PRESENT = np.array([[False, *[True] * 6], [*[True] * 4, *[False] * 3]])


def drawn() -> list[np.ndarray]:
    """Queries, keys, values, and a direction to read the context in."""
    draw = np.random.default_rng(0).normal
    return [2 * draw(size=(B, T, width)) for width in (K, K, V, V)]


def weights(query, key, allowed):
    """1 + z + z^2 / 2 of the allowed keys, by their sum; one sentence."""
    fits = np.zeros((len(query), len(key)), np.result_type(query, key))
    for t, s in np.argwhere(allowed):
        z = query[t] @ key[s] / K**0.5
        fits[t, s] = 1 + z + z**2 / 2
    total = fits.sum(-1, keepdims=True)
    return fits / np.where(total == 0, 1, total)


def expected(inputs, causal):
    seen = PRESENT[:, None] & (np.tri(T, dtype=bool) | (not causal))
    rows = zip(*inputs, seen, strict=True)
    return np.array([weights(q, k, allowed) @ v for q, k, v, allowed in rows])


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunked, "CHUNK", 2)


def read_with(mask, direction):
    def total(*inputs):
        context = CALL(*inputs, mask, deterministic=True)
        return (context * direction).sum(), context

    return jax.jit(jax.value_and_grad(total, (0, 1, 2), has_aux=True))


@pytest.mark.parametrize("causal", [False, True], ids=["all keys", "causal"])
def test_equals_the_oracle_with_gradients(causal, float64, small_chunks):
    *inputs, direction = drawn()
    mask = Padding(jnp.asarray(PRESENT))
    read = read_with(mask & Causal() if causal else mask, direction)
    (_, context), slopes = read(*map(jnp.asarray, inputs))
    tree = tuple(inputs)
    np.testing.assert_allclose(context, expected(tree, causal), rtol=0, atol=1e-12)
    assert not np.any(context[0, 0]) or not causal, "the first word of a row of padding sees no key"
    by_oracle = oracle.gradient(lambda tree: (expected(tree, causal) * direction).sum(), tree)
    chex.assert_trees_all_close(slopes, by_oracle, rtol=0, atol=1e-11)


def test_steps_and_queries_at_positions_equal_all_words_at_once(float64, small_chunks):
    inputs = [jnp.asarray(x) for x in drawn()[:3]]

    def step(state, word):
        query, key, value = (x[:, None] for x in word)
        context, state = CALL(query, CALL(key, value, method="prepare"), state, method="step")
        return state, context[:, 0]

    @jax.jit
    def read(*inputs):
        at = Positions(jnp.arange(T)[None])
        state = CALL(CALL(*inputs[1:], method="prepare"), method="start")
        assert state.shape == (B, 1 + K + K**2, V + 1)
        _, stepped = jax.lax.scan(step, state, [jnp.moveaxis(x, 1, 0) for x in inputs])
        return (
            CALL(*inputs, Causal(), deterministic=True),
            CALL(*inputs, Causal(), positions=at, deterministic=True),
            jnp.moveaxis(stepped, 0, 1),
        )

    together, *others = read(*inputs)
    for other in others:
        np.testing.assert_allclose(other, together, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype, bound", [("float32", 1e-5), ("bfloat16", 0.05)])
def test_narrow_numbers_are_as_near_as_their_dtype(dtype, bound):
    inputs = [jnp.asarray(x, dtype) for x in drawn()[:3]]
    rounded = tuple(np.asarray(x, np.float64) for x in inputs)
    mask = Padding(jnp.asarray(PRESENT)) & Causal()
    context = jax.jit(lambda *x: CALL(*x, mask, deterministic=True))(*inputs)
    assert context.dtype == dtype
    np.testing.assert_allclose(
        np.asarray(context, np.float64), expected(rounded, True), rtol=0, atol=bound
    )


def test_a_sum_of_which_rounding_left_nothing_is_kept_at_the_least_weight():
    sums = jnp.array([[6.0, -1e-3], [6.0, 0.0], [6.0, 3.0]])
    np.testing.assert_allclose(divided(sums, 0.5)[:, 0], [12.0, 6.0, 2.0])
