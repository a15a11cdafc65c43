"""Aligns whose rows need not sum to 1: loops over numbers, gradients, their sums and limits."""

from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.open import (
    Sink,
    StickBreaking,
    rectified,
    sigmoid,
    softmax_with_sink,
    softpick,
    stick_breaking,
)
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, DenseMask
from attnjax.attention.position import Positions
from tests import jitted
from tests.attention import oracle

T, S = 4, 6
POSITION = np.array([3, 0, 5, 1, 4, 2])


ALIGNS = {
    "sink": (partial(softmax_with_sink, sink=0.5), partial(oracle.softmax_with_sink, sink=0.5)),
    "sigmoid": (sigmoid, oracle.sigmoid),
    "rectified": (rectified, oracle.rectified),
    "softpick": (softpick, oracle.softpick),
    "stick breaking": (
        partial(stick_breaking, key_position=POSITION),
        partial(oracle.stick_breaking, position=POSITION),
    ),
}
each_align = pytest.mark.parametrize("name", ALIGNS)


def drawn():
    """Logits, a mask with an empty row, and a direction to read."""
    random = np.random.default_rng(0)
    logits, direction = random.normal(size=(2, T, S)) * 2
    allowed = random.random((T, S)) < 0.7
    allowed[1] = False
    return logits, allowed, direction


@each_align
def test_equals_the_oracle_with_gradients(name, float64):
    align, expected_of = ALIGNS[name]
    logits, allowed, direction = drawn()

    def read(logits):
        weights = align(logits, allowed)
        return (weights * direction).sum(), weights

    (_, weights), slope = jax.jit(jax.value_and_grad(read, has_aux=True))(logits)
    expected = expected_of(logits, allowed)
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-12)
    assert (np.asarray(weights)[~allowed] == 0).all()
    slopes = oracle.gradient(lambda x: (expected_of(x, allowed) * direction).sum(), logits)
    np.testing.assert_allclose(slope, slopes, rtol=0, atol=1e-11)
    assert (np.asarray(slope)[~allowed] == 0).all()


@each_align
def test_no_mask_is_a_mask_that_allows_all(name):
    align, _ = ALIGNS[name]
    logits = np.float32(drawn()[0])
    one, other = jax.jit(lambda x: (align(x, None), align(x, np.ones((T, S), bool))))(logits)
    np.testing.assert_array_equal(one, other)


@each_align
def test_half_precision_is_as_near_as_it_rounds(name):
    align, expected_of = ALIGNS[name]
    logits = jnp.asarray(np.random.default_rng(0).normal(size=(2, S)) * 3, jnp.bfloat16)
    read = jax.jit(lambda x: align(x, None))
    expected = expected_of(np.asarray(logits, float), np.ones((2, S), bool))
    for dtype, near in ((jnp.bfloat16, 2**-6), (jnp.float32, 1e-6)):
        weights = read(jnp.asarray(np.asarray(logits), dtype))
        assert weights.dtype == dtype
        np.testing.assert_allclose(
            np.asarray(weights, float), expected, rtol=near, atol=1e-3 * near
        )


@each_align
def test_logits_far_from_zero_give_finite_weights_and_gradients(name):
    align, _ = ALIGNS[name]
    logits = np.array([[-1e5, -300.0, 0.0, 300.0, 1e5, 2.0]])

    def read(logits):
        weights = align(logits, None)
        return (weights * np.arange(S)[None]).sum(), weights

    read = jax.jit(jax.value_and_grad(read, has_aux=True))
    for sign in (1, -1):
        (_, weights), slope = jax.device_get(read(sign * logits))
        chex.assert_tree_all_finite((weights, slope))
        assert (weights >= 0).all()
        assert name in ("sigmoid", "rectified") or weights.sum() <= 1 + 1e-6


def test_a_sink_is_a_key_without_a_value():
    logits, _, _ = drawn()
    more = np.concatenate([logits, np.full((T, 1), 0.5)], axis=-1)
    align = jax.jit(lambda logits, sink: softmax_with_sink(logits, None, sink))
    allowed = np.ones(more.shape, bool)
    expected = oracle.softmax(more, allowed)[..., :-1]
    np.testing.assert_allclose(align(logits, 0.5), expected, rtol=1e-5)
    expected = oracle.softmax(logits, allowed[:, 1:])
    np.testing.assert_allclose(align(logits, -np.inf), expected, rtol=1e-5)


def test_a_constant_bias_makes_weights_independent_of_other_keys():
    logits = np.float32(drawn()[0])
    align = jax.jit(lambda logits: sigmoid(logits, None, -1.0))
    np.testing.assert_array_equal(np.asarray(align(logits))[:, :1], align(logits[:, :1]))
    np.testing.assert_allclose(np.sum(jax.jit(sigmoid)(np.zeros((1, 4)))), 4 / 5, rtol=1e-6)


def test_softpick_gives_nothing_to_logits_below_zero():
    logits = np.array([[1.0, -1.0, 2.0], [-1.0, -2.0, -0.5]])
    weights = np.asarray(jax.jit(softpick)(logits))
    assert ((weights > 0) == (logits > 0)).all()
    above, below = np.exp([1, 2]) - 1, 1 - np.exp(-1)
    np.testing.assert_allclose(weights[0].sum(), above.sum() / (above.sum() + below), rtol=1e-6)


def test_what_is_left_of_the_stick_is_what_nobody_took(float64):
    logits, allowed, _ = drawn()
    weights = np.asarray(jax.jit(stick_breaking)(logits, allowed, POSITION))
    left = np.where(allowed, 1 / (1 + np.exp(logits)), 1).prod(-1)
    np.testing.assert_allclose(1 - weights.sum(-1), left, atol=1e-12)


def test_a_stick_is_broken_in_the_order_of_positions():
    """The keys of a beam's cache do not lie in the order of their positions."""
    x = np.random.default_rng(0).normal(size=(2, S, 8))
    module = MultiHead(head=Attention(align=StickBreaking()), heads=2)
    variables = jitted.drawn(module, x, deterministic=True)
    read = partial(jitted.apply, module, variables, deterministic=True)
    straight = read(x, mask=Causal())
    shuffled = x[:, POSITION]
    at = Positions(query=np.arange(S)[None], key=POSITION[None])
    moved = read(x, shuffled, shuffled, Causal(), positions=at)
    np.testing.assert_allclose(moved, straight, atol=1e-6)


def test_each_head_learns_a_sink_of_its_own():
    x = np.random.default_rng(0).normal(size=(1, 4, 6))
    module = MultiHead(head=Attention(align=Sink()), heads=3)
    variables = jitted.init(module, jax.random.key(0), x, deterministic=True)["params"]
    np.testing.assert_array_equal(variables["head"]["align"]["sink"], np.zeros(3))
    mask = DenseMask(np.eye(4, dtype=bool)[None])

    def rows(sink):
        variables["head"]["align"]["sink"] = sink
        _, seen = jitted.apply(
            module, {"params": variables}, x, mask=mask, deterministic=True, mutable=["attention"]
        )
        return seen["attention"]["head"]["weights"][0].sum(-1)

    np.testing.assert_allclose(rows(np.full(3, -np.inf)), 1, rtol=1e-6)
    assert (rows(np.array([0.0, 50.0, 0.0]))[:, 1] < 1e-6).all()
