"""Local attention against the oracle and its limits; masked rows and padding: test_align."""

import math
from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.base import Softmax, softmax
from attnjax.attention.align.local import (
    LocalMonotonic,
    LocalPredictive,
    local_monotonic,
    local_predictive,
    predicted_center,
)
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, DenseMask
from attnjax.attention.position import Positions
from attnjax.errors import UserError
from tests import jitted
from tests.attention import oracle

B, T, S, D, W = 2, 4, 6, 4, 3


def inputs(dtype=np.float32, seed: int = 0):
    """Query, key, value and a direction to read."""
    draw = np.random.default_rng(seed).normal
    query, key, value, direction = (draw(size=(B, n, D)).astype(dtype) for n in (T, S, S, T))
    return (query, key, value), direction


def masked():
    """Keys hidden here and there, so that rows differ in length; row (0, 1) is empty."""
    allowed = np.random.default_rng(1).random((B, T, S)) < 0.7
    allowed[0, 1] = False
    return allowed


def parameters_of(module, given):
    return jitted.drawn(module, *given, deterministic=True).get("params", {})


def show(module, parameters, given, mask=None, **positions):
    """The context and the weights."""
    looking = {"deterministic": True, "mutable": ["attention"]}
    context, seen = jitted.apply(
        module, {"params": parameters}, *given, mask, **positions, **looking
    )
    (weights,) = seen["attention"].get("head", seen["attention"])["weights"]
    return context, weights


def centers(own, query, mask):
    """Luong et al. 2015, eq. 9; S is what the mask allows."""
    return [
        sum(row) / (1 + np.exp(-(own["v"] @ np.tanh(own["hidden"]["kernel"].T @ q))))
        for q, row in zip(query, mask, strict=True)
    ]


def around(logits, mask, center, reach, sigma):
    """Luong et al. 2015, eq. 10; keys stand at 0, 1, ..."""
    near = [
        [allowed and abs(s - p.real) <= reach for s, allowed in enumerate(row)]
        for p, row in zip(center, mask, strict=True)
    ]
    gaussian = [
        [np.exp(-((s - p) ** 2) / (2 * sigma**2)) for s in range(logits.shape[1])] for p in center
    ]
    return oracle.softmax(logits, np.array(near)) * np.array(gaussian)


def weights_of(align, own, query, logits, mask):
    """One sentence's weights, by the align."""
    if isinstance(align, LocalMonotonic):
        return around(logits, mask, np.arange(len(query)), align.reach, math.inf)
    sigma = align.sigma or align.reach / 2
    return around(logits, mask, centers(own, query, mask), align.reach, sigma)


@pytest.mark.parametrize(
    "align",
    [
        LocalMonotonic(reach=1),
        LocalPredictive(reach=2, width=W),
        LocalPredictive(reach=3, sigma=0.7),
    ],
    ids=["monotonic", "predictive", "predictive-sigma"],
)
def test_equals_the_oracle_with_gradients(align, float64):
    given, direction = inputs(np.float64)
    attention, allowed = Attention(align=align), masked()
    tree = parameters_of(attention, given), given

    def context(tree):
        own, given = tree[0].get("align", {}), zip(*tree[1], allowed, strict=True)
        return np.array(
            [
                oracle.pool(weights_of(align, own, q, oracle.scaled_dot(q, k), a), v)
                for q, k, v, a in given
            ]
        )

    def read(parameters, given):
        context, _ = show(attention, parameters, given, DenseMask(allowed))
        return (context * direction).sum(), context

    (_, value), found = jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))(*tree)
    slopes = oracle.gradient(lambda tree: (context(tree) * direction).sum(), tree)
    np.testing.assert_allclose(value, context(tree), rtol=0, atol=1e-12)
    chex.assert_trees_all_close(found, slopes, rtol=0, atol=1e-12)
    assert all((np.asarray(leaf) != 0).all() for leaf in jax.tree.leaves(found[0]))


@pytest.mark.parametrize(
    "align",
    [LocalMonotonic(reach=S), LocalPredictive(reach=S, sigma=math.inf)],
    ids=lambda align: type(align).__name__,
)
def test_a_window_as_long_as_the_sentence_is_the_softmax(align):
    given, _ = inputs()
    attention, mask = Attention(align=align), DenseMask(masked())
    local = show(attention, parameters_of(attention, given), given, mask)
    everywhere = show(Attention(align=Softmax()), {}, given, mask)
    chex.assert_trees_all_close(local, everywhere, rtol=0, atol=1e-7)


def test_with_an_infinite_sigma_only_the_window_is_left():
    logits = np.float32(np.random.default_rng(0).normal(size=(T, S)))
    allowed, center = masked()[1], np.float32([0.4, 2.0, 3.7, 5.9])
    keys = np.arange(S)
    window = np.abs(keys[None] - center[:, None]) <= 1

    def read(logits, center):
        weights = local_predictive(logits, allowed, center, keys, reach=1, sigma=math.inf)
        return weights[:, 2].sum(), (weights, softmax(logits, allowed & window))

    read = jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))
    (_, (weights, expected)), (_, by_center) = jax.device_get(read(logits, center))
    np.testing.assert_array_equal(weights, expected)
    assert (by_center == 0).all()


def test_the_gaussian_takes_from_the_rows_sum():
    read = jax.jit(partial(local_predictive, reach=1, sigma=0.5))
    rows = read(np.zeros((2, 5)), None, np.array([2.0, 0.0]), np.arange(5))
    side = math.exp(-2)
    expected = [[0, side / 3, 1 / 3, side / 3, 0], [1 / 2, side / 2, 0, 0, 0]]
    np.testing.assert_allclose(rows, expected, atol=1e-7)


def test_the_center_stays_within_the_allowed_length():
    hidden = np.array([[-9.0], [0.0], [9.0]], jnp.bfloat16)
    length, center_of = np.array([1000, 600, 1000]), jax.jit(predicted_center)
    center = center_of(hidden, np.full((1,), 90, jnp.bfloat16), length)
    assert center.dtype == jnp.float32
    np.testing.assert_allclose(center, [0, 300, 1000], atol=1e-4)
    odd = jax.jit(partial(predicted_center, length=601))(hidden[1:2], np.ones((1,), jnp.bfloat16))
    np.testing.assert_array_equal(odd, [300.5])


@pytest.mark.parametrize("predictive", [False, True], ids=["monotonic", "predictive"])
def test_a_window_without_an_allowed_key_is_zero(predictive):
    logits, far, keys = np.ones((1, 3)), np.array([9.0]), np.arange(3)

    def read(logits, center):
        if predictive:
            weights = local_predictive(logits, None, center, keys, reach=2, sigma=1.0)
        else:
            weights = local_monotonic(logits, None, Positions(center, keys), reach=2)
        return weights[0, 2], weights

    read = jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))
    (_, weights), slopes = jax.device_get(read(logits, far))
    for array in (weights, *slopes):
        assert (array == 0).all()


def test_every_head_predicts_its_own_center():
    given, _ = inputs()
    align = LocalPredictive(reach=3, width=W)
    module, allowed = MultiHead(head=Attention(align=align), heads=2), masked()
    parameters = parameters_of(module, given)
    own = parameters["head"]["align"]
    assert own["hidden"]["kernel"].shape == (2, D // 2, W)
    assert own["v"].shape == (2, W)
    _, weights = show(module, parameters, given, DenseMask(allowed))
    found = []
    for head in range(2):
        mine = jax.tree.map(lambda p, head=head: p[head], own)
        query, key = (
            x @ parameters[which]["kernel"][:, head]
            for which, x in (("query", given[0]), ("key", given[1]))
        )
        for b in range(B):
            logits = oracle.scaled_dot(query[b], key[b])
            expected = weights_of(align, mine, query[b], logits, allowed[b])
            np.testing.assert_allclose(weights[b, head], expected, atol=1e-6)
        found.append(centers(mine, query[1], allowed[1]))
    assert not np.allclose(*found, atol=0.1)


@pytest.mark.parametrize(
    "align",
    [LocalMonotonic(reach=1), LocalPredictive(reach=2, width=W)],
    ids=lambda align: type(align).__name__,
)
def test_one_step_at_a_time_equals_all_at_once(align):
    (query, key, value), _ = inputs()
    attention = Attention(align=align)
    parameters = parameters_of(attention, (query, key, value))
    together = show(attention, parameters, (query, key, value), Causal())
    for t in range(T):
        row = query[:, t : t + 1], key, value
        alone = show(attention, parameters, row, Causal(), positions=Positions(np.array([[t]])))
        chex.assert_trees_all_close(
            alone, jax.tree.map(lambda x, t=t: x[:, t : t + 1], together), rtol=0, atol=1e-6
        )


@pytest.mark.parametrize(
    "align, message",
    [
        (LocalMonotonic(reach=-1), "at least 0; got -1"),
        (LocalPredictive(reach=-1, sigma=1.0), "at least 0; got -1"),
        (LocalPredictive(reach=0), "sigma of local attention must be above 0; got 0.0"),
        (LocalPredictive(sigma=-2.0), "sigma of local attention must be above 0; got -2.0"),
    ],
)
def test_windows_that_are_none_are_refused(align, message):
    given, _ = inputs()
    with pytest.raises(UserError, match=message):
        jitted.init(Attention(align=align), jax.random.key(0), *given, deterministic=True)
