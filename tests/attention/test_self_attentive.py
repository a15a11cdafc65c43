"""Self-attentive pooling: equal to the paper's equations; masked; its redundancy."""

import jax
import numpy as np
from hypothesis import given, strategies as st

from attnjax.attention import Padding, SelfAttentive
from attnjax.attention.heads.self_attentive import redundancy
from tests import jitted

HOPS, W, D, S = 3, 4, 5, 6
PART = SelfAttentive(hops=HOPS, width=W)
RANDOM = np.random.default_rng(0)
STATES = RANDOM.normal(size=(3, S, D))
QUERY = RANDOM.normal(size=(3, 1, D))
PRESENT = np.arange(S) < np.array([[6], [4], [0]])


def parameters():
    draw = RANDOM.normal
    out = {"kernel": draw(size=(HOPS * D, D)), "bias": draw(size=D)}
    return {
        "hidden": {"kernel": draw(size=(D, W))},
        "hops": {"kernel": draw(size=(W, HOPS))},
        "out": out,
    }


def attend(params, states=STATES, present=PRESENT, query=QUERY):
    return jitted.apply(
        PART,
        {"params": params},
        *(query, states, states),
        Padding(present),
        deterministic=True,
        mutable=["attention", "objective"],
    )


def test_equals_the_equations(float64):
    params = parameters()
    context, sown = attend(params)
    (weights,), (found,) = sown["attention"]["weights"], sown["objective"]["redundancy"]
    assert weights.shape == (3, HOPS, 1, S)
    assert context.shape == QUERY.shape
    for row, length in ((0, 6), (1, 4)):
        h = STATES[row, :length]
        scores = params["hops"]["kernel"].T @ np.tanh(params["hidden"]["kernel"].T @ h.T)
        a = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        np.testing.assert_allclose(weights[row, :, 0, :length], a, rtol=0, atol=1e-14)
        m = (a @ h).reshape(-1)
        expected = np.maximum(m @ params["out"]["kernel"] + params["out"]["bias"], 0)
        np.testing.assert_allclose(context[row, 0], expected, rtol=0, atol=1e-13)
        norm = np.linalg.norm(a @ a.T - np.eye(HOPS)) ** 2
        np.testing.assert_allclose(found[row, 0], norm, rtol=0, atol=1e-13)
    assert (weights[1, ..., 4:] == 0).all()
    assert (weights[2] == 0).all()


def test_the_query_gives_the_width_alone_and_padding_has_no_gradient(float64):
    params = parameters()
    params["out"]["bias"] += 100  # where the rectifier passes everything

    def total(states, query):
        return attend(params, states, query=query)[0].sum()

    by_states, by_query = jax.jit(jax.grad(total, (0, 1)))(STATES, QUERY)
    assert (by_query == 0).all()
    norms = np.abs(by_states).sum(-1)
    assert ((norms > 0) == PRESENT).all()
    longer = np.pad(STATES, ((0, 0), (0, 2), (0, 0)), constant_values=7.0)
    present = np.pad(PRESENT, ((0, 0), (0, 2)))
    np.testing.assert_allclose(
        attend(params, longer, present)[0], attend(params)[0], rtol=0, atol=1e-13
    )


@given(st.sampled_from([(1, 4), (3, 5)]), st.integers(0, 2**31))
def test_redundancy_is_least_for_hops_on_words_of_their_own(shape, seed):
    (hops, words), measured = shape, jax.jit(redundancy)
    random = np.random.default_rng(seed)
    apart = np.eye(words)[random.permutation(words)[:hops]]
    assert measured(apart) == 0
    alike = np.repeat(apart[:1], hops, axis=0)
    np.testing.assert_allclose(measured(alike), hops * (hops - 1), atol=1e-5)
    weights = random.dirichlet(np.ones(words), hops)
    assert measured(weights) > 0
