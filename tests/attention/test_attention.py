"""One head against the oracle, in every score, values and gradients, both precisions."""

import inspect
from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.base import Align
from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.fused.dispatch import fused
from attnjax.attention.heads.last_state import LastState
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import DenseMask, Mask
from attnjax.attention.position import Position, Positions
from attnjax.attention.score import base as scores
from attnjax.attention.score.base import (
    Additive,
    Dot,
    General,
    ScaledDot,
    Score,
    WidthScaledDot,
    additive,
    dot,
    scaled_dot,
)
from attnjax.errors import UserError
from tests import jitted
from tests.attention import oracle

SCORES = (Dot(), ScaledDot(), WidthScaledDot(base_key_width=2), General(), Additive(width=5))
B, T, S, K, V = 2, 3, 4, 3, 2


def arrays(seed: int = 0, key_width: int = K):
    """Query, key, value, a mask whose row (0, 1) is empty, and a direction to read."""
    draw = np.random.default_rng(seed).normal
    allowed = np.random.default_rng(seed).random((B, T, S)) < 0.7
    allowed[0, 1], allowed[1, 0] = False, True
    shapes = {"query": (T, K), "key": (S, key_width), "value": (S, V), "direction": (T, V)}
    inputs = {name: draw(size=(B, *shape)) for name, shape in shapes.items()}
    direction = inputs.pop("direction")
    return inputs, allowed, direction


def ours(attention, parameters, inputs, allowed, direction):
    """The context, and the gradient of its inner product with a direction."""

    def read(parameters, inputs):
        context = attention.apply(
            {"params": parameters}, **inputs, mask=DenseMask(allowed), deterministic=True
        )
        return (context * direction).sum(), context

    return jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))(parameters, inputs)


@pytest.mark.parametrize("score", SCORES, ids=lambda score: type(score).__name__)
def test_equals_the_oracle_with_gradients(score, float64):
    inputs, allowed, direction = arrays(key_width=K + 1 if isinstance(score, General) else K)
    attention = Attention(score=score)
    drawn = jitted.drawn(attention, *inputs.values(), deterministic=True)
    parameters = drawn.get("params", {})
    name = type(score).__name__

    def context(tree):
        own, given = tree
        rows = zip(given["query"], given["key"], given["value"], allowed, strict=True)
        return np.array([oracle.attention(name, own.get("score", {}), *row) for row in rows])

    expected = context((parameters, inputs))
    slopes = oracle.gradient(lambda tree: (context(tree) * direction).sum(), (parameters, inputs))
    for kind, tolerance in ((np.float64, 1e-12), (np.float32, 2e-6)):
        given = jax.tree.map(lambda x, kind=kind: x.astype(kind), (parameters, inputs))
        (_, value), found = ours(attention, *given, allowed, direction.astype(kind))
        assert value.dtype == kind
        np.testing.assert_allclose(value, expected, rtol=0, atol=tolerance)
        chex.assert_trees_all_close(found, slopes, rtol=0, atol=tolerance)


def test_logits_are_float32_or_wider():
    # Entries of 100 at width 64: the product, 640,000, is past float16's 65,504.
    x = jnp.full((1, 64), 100, jnp.float16)
    assert dot(x, x) == 640_000
    assert scaled_dot(x, x) == 80_000
    # W x, 640,000 already, is past it too
    assert scores.general(x, x / 100, jnp.full((64, 64), 100, jnp.float16)) == 64 * 640_000
    assert additive(x, x, jnp.full((64,), 2000, jnp.float16)) == 128_000
    for half in (jnp.float16, jnp.bfloat16):
        assert dot(x.astype(half), x.astype(half)).dtype == jnp.float32


def test_scaled_dot_is_the_dot_of_a_shrunken_query():
    inputs, _, _ = arrays()
    query, key = inputs["query"], inputs["key"]
    np.testing.assert_allclose(
        scaled_dot(query, key), dot(query / np.sqrt(K), key), rtol=1e-5, atol=1e-6
    )


def test_general_with_the_identity_is_dot():
    inputs, _, _ = arrays()
    query, key = inputs["query"], inputs["key"]
    np.testing.assert_array_equal(scores.general(query, key, np.eye(K)), dot(query, key))


@pytest.mark.parametrize("score", SCORES, ids=lambda score: type(score).__name__)
def test_prepared_once_is_the_same(score):
    inputs, allowed, _ = arrays()
    attention, mask = Attention(score=score), DenseMask(allowed)
    together, variables = jitted.init_with_output(
        attention, jax.random.key(0), **inputs, mask=mask, deterministic=True
    )
    variables = {"params": variables.get("params", {})}
    memory = jitted.apply(attention, variables, inputs["key"], inputs["value"], method="prepare")
    for t in range(T):
        row = jitted.apply(
            attention,
            variables,
            inputs["query"][:, t : t + 1],
            memory,
            DenseMask(mask.allowed[:, t : t + 1]),
            deterministic=True,
            method="attend",
        )
        np.testing.assert_allclose(row[:, 0], together[:, t], atol=1e-6)


def test_weights_are_shown_only_when_asked_and_before_dropout():
    inputs, allowed, _ = arrays()
    attention = Attention(dropout=0.5)

    def attend(*, deterministic, mutable=False):
        return jitted.apply(
            attention,
            {},
            **inputs,
            mask=DenseMask(allowed),
            deterministic=deterministic,
            mutable=mutable,
            rngs={"dropout": jax.random.key(1)},
        )

    for deterministic in (True, False):
        context, seen = attend(deterministic=deterministic, mutable=["attention"])
        np.testing.assert_array_equal(context, attend(deterministic=deterministic))
        (weights,), (logits,) = seen["attention"]["weights"], seen["attention"]["logits"]
        sums = allowed.any(-1).astype(np.float32)
        np.testing.assert_allclose(weights.sum(-1), sums, atol=1e-6)
        np.testing.assert_allclose(logits, scaled_dot(inputs["query"], inputs["key"]), atol=1e-6)
    assert not np.allclose(attend(deterministic=True), attend(deterministic=False))


def test_booleans_are_a_dense_mask():
    inputs, allowed, _ = arrays()
    given = (inputs["query"], inputs["key"], inputs["value"])
    for attention in (LastState(), Attention(implementation="blockwise"), Attention()):
        expected = jitted.apply(attention, {}, *given, DenseMask(allowed), deterministic=True)
        found = jitted.apply(attention, {}, *given, allowed, deterministic=True)
        np.testing.assert_array_equal(found, expected)
        # NumPy's, as a program holds them
        known = jax.jit(lambda *x, a=attention: a.apply({}, *x, allowed, deterministic=True))
        np.testing.assert_allclose(known(*given), expected, rtol=1e-5, atol=1e-6)
    one, other = jax.jit(lambda: (fused(*given, allowed), fused(*given, DenseMask(allowed))))()
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    shared = np.broadcast_to(allowed[:1], allowed.shape)
    everywhere = jitted.apply(attention, {}, *given, shared, deterministic=True)
    found = jitted.apply(attention, {}, *given, allowed[0], deterministic=True)
    np.testing.assert_array_equal(found, everywhere)
    for wrong in (allowed.astype(np.float32), allowed[0, 0], allowed[None]):
        with pytest.raises(UserError, match=r"wants booleans with 2 to 3 axes, \[..., T, S\]"):
            jitted.apply(Attention(), {}, *given, wrong, deterministic=True)


@pytest.mark.parametrize("head", [Attention(), Attention(score=General()), LastState()])
def test_initializing_sows_nothing(head):
    x = np.ones((1, 3, 4))
    for attention in (head, MultiHead(head=head, heads=2)):
        assert set(jitted.init(attention, jax.random.key(0), x, deterministic=True)) <= {"params"}


class Seen(Score):
    """Logits that tell which positions the score was told."""

    def __call__(self, query, key, positions):
        both = 100 * positions.query[..., :, None] + positions.key[..., None, :]
        return dot(query, key) * 0 + both


@pytest.mark.parametrize(
    "positions, query, key",
    [
        (Positions(), [0, 1], [0, 1, 2]),
        (Positions(np.array([[5, 6]])), [5, 6], [0, 1, 2]),
        (Positions(np.array([[5, 6]]), np.array([[4, 0, 9]])), [5, 6], [4, 0, 9]),
    ],
)
def test_a_score_is_told_both_positions(positions, query, key):
    q, k = np.ones((1, 2, 4)), np.ones((1, 3, 4))
    expected = 100 * np.array(query)[:, None] + np.array(key)
    for attention in (Attention(score=Seen()), MultiHead(head=Attention(score=Seen()), heads=2)):
        params = jitted.init(attention, jax.random.key(0), q, k, deterministic=True)
        _, seen = jitted.apply(
            attention, params, q, k, positions=positions, deterministic=True, mutable=["attention"]
        )
        (logits,) = seen["attention"].get("head", seen["attention"])["logits"]
        np.testing.assert_array_equal(logits.reshape(-1, 2, 3)[0], expected)


def test_the_key_defaults_to_the_query_and_the_value_to_the_key():
    x, y = arrays()[0]["query"], arrays(seed=1)[0]["key"]
    call = partial(jitted.apply, Attention(), {}, deterministic=True)
    np.testing.assert_array_equal(call(x), call(x, x, x))
    np.testing.assert_array_equal(call(x, y), call(x, y, y))


@pytest.mark.parametrize("kind", [Score, Align, Mask, Position, AttentionBase])
def test_an_abstract_part_cannot_be_made(kind):
    assert inspect.isabstract(kind)
    with pytest.raises(TypeError, match="abstract"):
        kind()
