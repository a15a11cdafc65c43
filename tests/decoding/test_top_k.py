"""The best continuations against `lax.top_k` over all of them."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding.top_k import BLOCK, top_continuations


def sorted_best(logits, score, may_end, must_end, count):
    """All of them, sorted; what is added to a hypothesis' logits is added as `best` does."""
    words = logits.shape[-1]
    peak = logits.max(-1)
    offset = score - peak - jnp.log(jnp.exp(logits - peak[..., None]).sum(-1))
    word = np.arange(words)
    allowed = (word != PAD) & (word != START) & ((word != END) | may_end)
    ending = jnp.broadcast_to(word == END, (len(logits), words))
    allowed = jnp.where(must_end[:, None], ending, jnp.broadcast_to(allowed, ending.shape))
    total = jnp.where(allowed[:, None], logits + offset[..., None], -jnp.inf)
    score, index = jax.lax.top_k(total.reshape(len(total), -1), count)
    return score, index // words, index % words


@pytest.mark.parametrize("words", [6, BLOCK, 3 * BLOCK, 3 * BLOCK + 1, 5 * BLOCK - 1])
@given(
    seed=st.integers(0, 2**32 - 1),
    levels=st.sampled_from([2, 5, 1000]),
    may_end=st.booleans(),
)
def test_the_best_are_those_of_sorting_all(words, seed, levels, may_end):
    random = np.random.default_rng(seed)
    batch, size = 4, 3
    # few levels make ties within a block, between blocks and between hypotheses
    logits = np.float32(random.integers(0, levels, (batch, size, words)) * 0.5)
    score = random.integers(-3, 1, (batch, size)).astype(np.float32)
    score[0, 1:] = -np.inf
    must_end = random.random(batch) < 0.3
    count = 2 * size
    wanted = jax.jit(sorted_best, static_argnums=4)(logits, score, may_end, must_end, count)
    found = jax.jit(top_continuations, static_argnames="count")(
        logits, score, may_end=np.asarray(may_end), must_end=must_end, count=count
    )
    np.testing.assert_allclose(found.score, wanted[0], rtol=1e-6)
    found, wanted = jax.device_get((found, wanted))
    there = np.isfinite(found.score)
    np.testing.assert_array_equal(found.parent[there], wanted[1][there])
    np.testing.assert_array_equal(found.token[there], wanted[2][there])
    assert (found.token < words).all()


def test_a_word_that_may_not_come_may_be_far_more_probable():
    logits = np.zeros((1, 1, 300), np.float32)
    logits[0, 0, [PAD, 200]] = 1e4, 1.0
    best = jax.jit(top_continuations, static_argnames="count")
    always = {"may_end": np.asarray(True), "must_end": np.asarray([False])}
    found = best(logits, np.zeros((1, 1)), **always, count=2)
    assert found.token.tolist() == [[200, END]]
    np.testing.assert_allclose(found.score, [[1 - 1e4, -1e4]])
    # nor does its block come before the block of the best that may
    assert best(logits, np.zeros((1, 1)), **always, count=1).token.tolist() == [[200]]


def test_logits_of_half_precision_give_scores_in_float32():
    logits = jnp.asarray([[[0, 0, 1, 2]]], jnp.bfloat16)
    always = {"may_end": np.asarray(True), "must_end": np.asarray([False])}
    best = jax.jit(top_continuations, static_argnames="count")
    found = best(logits, np.zeros((1, 1)), **always, count=1)
    assert found.score.dtype == jnp.float32
    wanted = 2 - np.log(np.exp([0, 0, 1, 2]).sum())
    np.testing.assert_allclose(found.score[0, 0], wanted, rtol=1e-6)
