"""Caps of logits and sinks of softmaxes tile by tile, against the dense path, with gradients."""

from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import Partial

from attnjax.attention.align.base import LearnedScale, Softmax
from attnjax.attention.align.open import OffByOne, Sink, softmax_with_sink
from attnjax.attention.attention import Attention
from attnjax.attention.fused import fused
from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.cudnn import cudnn_refuses
from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.fused.splash import splash_refuses
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, Mask, Padding, Segments, Window
from attnjax.attention.pool import weighted_sum
from attnjax.attention.position import Positions, distance
from attnjax.attention.score.base import ScaledDot, dot, soft_cap
from attnjax.attention.score.bucketed import Bucketed
from attnjax.attention.score.capped import SoftCap
from attnjax.attention.score.positional import Alibi, Rotary
from attnjax.errors import UserError
from tests import jitted

B, H, T, K, V = 2, 2, 11, 4, 3
TILE, CAP = (4, 4), 1.5


@pytest.fixture(autouse=True)
def groups(monkeypatch):
    """The four examples are read two at a time."""
    monkeypatch.setattr("attnjax.attention.fused.tiles.ENTRIES", 2 * 4 * 4)


WORDS = jnp.arange(T)
ROWS = jnp.broadcast_to((WORDS >= 5) * 1, (B, 1, T))
MASKS: dict[str, Mask | None] = {
    "none": None,
    # the second example has no key at all
    "padding and empty rows": Padding(WORDS[None, None] < jnp.array([7, 0])[:, None, None]),
    "causal window": Causal() & Window(3, 3),
    "packed": Segments(ROWS, ROWS) & Causal(),
}


def drawn():
    """Query, key, value, sink of each head, slope of the bias, and a direction to read."""
    draw = np.random.default_rng(0).normal
    shapes = (T, K), (T, K), (T, V), (1, 1)
    given = [3 * jnp.asarray(draw(size=(B, H, *shape))) for shape in shapes]
    return [*given, jnp.asarray(draw(size=(B, H)))], jnp.asarray(draw(size=(B, H, T, V)))


def tilted(slope, query, positions):
    return slope[..., None, None] * distance(positions)


def with_gradients(attend, direction):
    def read(given):
        context = attend(*given)
        return (context * direction).sum(), context

    return jax.jit(jax.value_and_grad(read, has_aux=True))


@pytest.mark.parametrize(
    "cap, sink, mask",
    [
        *((CAP, True, mask) for mask in MASKS),
        # without a sink an empty row has no weight at all
        (CAP, False, "padding and empty rows"),
        (None, True, "packed"),
        *(
            pytest.param(CAP, False, mask, marks=pytest.mark.long)
            for mask in ("none", "causal window", "packed")
        ),
        *(
            pytest.param(None, True, mask, marks=pytest.mark.long)
            for mask in ("none", "causal window", "padding and empty rows")
        ),
    ],
)
def test_tiles_equal_weights_with_gradients(mask, cap, sink, float64):
    given, direction = drawn()
    rule = MASKS[mask]
    at = Positions(WORDS[None, None], WORDS[None, None])

    def by_tiles(query, key, value, z, slope):
        own = z if sink else None
        inputs = Inputs(query, key, value, rule, Positions(), Partial(tilted, slope), 0.5, cap, own)
        return blockwise(inputs, TILE)

    def by_weights(query, key, value, z, slope):
        logits = dot(query, key) / 2 + tilted(slope, query, at)
        logits = logits if cap is None else soft_cap(logits, cap)
        allowed = None if rule is None else jnp.broadcast_to(rule.dense(at), logits.shape)
        weights = softmax_with_sink(logits, allowed, z if sink else -jnp.inf)
        if allowed is not None:  # without a sink an empty row would hold the whole softmax
            weights = jnp.where(allowed, weights, 0)
        return weighted_sum(weights, value)

    found = with_gradients(by_tiles, direction)(given)
    expected = with_gradients(by_weights, direction)(given)
    chex.assert_trees_all_close(found, expected, rtol=0, atol=1e-10)


def test_vmap_and_forward_derivatives_are_those_of_weights(float64):
    """Sinks of mapped heads; a derivative of the gradient."""
    (query, key, value, sink, _), direction = drawn()
    change = jax.tree.map(lambda x: jnp.cos(x), (query, key, value, sink))

    def by_tiles(query, key, value, sink):
        one = partial(blockwise, tile=TILE)
        return jax.vmap(
            lambda *x: one(Inputs(*x[:3], Causal(), cap=CAP, sink=x[3])), (1, 1, 1, 1), 1
        )(query, key, value, sink)

    def by_weights(query, key, value, sink):
        logits = soft_cap(dot(query, key), CAP)
        allowed = jnp.broadcast_to(jnp.tri(T, dtype=bool), logits.shape)
        return weighted_sum(softmax_with_sink(logits, allowed, sink), value)

    found, expected = [], []
    for call, kept in ((by_tiles, found), (by_weights, expected)):

        def slope(given, call=call):
            return jax.grad(lambda given: (call(*given) * direction).sum())(given)

        given = (query, key, value, sink)
        kept += [*jax.jit(lambda x, call=call: jax.jvp(lambda x: call(*x), (x,), (change,)))(given)]
        kept += [jax.jit(lambda x, slope=slope: jax.jvp(slope, (x,), (change,)))(given)]
    chex.assert_trees_all_close(found, expected, rtol=0, atol=1e-10)


PARTS = {
    "cap": Attention(score=SoftCap(cap=CAP)),
    "cap around positions, temperature": Attention(
        score=SoftCap(score=Alibi(), cap=CAP), align=Softmax(temperature=0.7)
    ),
    "cap around rotary": Attention(score=SoftCap(score=Rotary(), cap=CAP)),
    "off by one": Attention(align=OffByOne()),
    "sink and cap": Attention(score=SoftCap(cap=CAP), align=Sink()),
    "sink and buckets": Attention(score=Bucketed(buckets=8, most=6), align=Sink()),
    "buckets": Attention(score=Bucketed(buckets=8, most=6)),
}


@pytest.mark.parametrize(
    "name, key_heads",
    [
        # a cap and buckets alone are within what has a sink beside them
        *(
            pytest.param(name, 1, marks=pytest.mark.long if name in ("cap", "buckets") else [])
            for name in PARTS
        ),
        # heads that share keys have those with keys of their own within
        *(pytest.param(name, None, marks=pytest.mark.long) for name in PARTS),
    ],
)
def test_heads_of_these_parts_are_the_same_by_tiles(name, key_heads, float64):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(B, T, 8)))
    mask = Padding(WORDS[None] < jnp.array([T, 6])[:, None]) & Causal()
    dense, tiled = (
        MultiHead(head=PARTS[name].clone(implementation=how), heads=2, key_heads=key_heads)
        for how in ("dense", "blockwise")
    )
    variables = jitted.drawn(dense, x, deterministic=True)

    @jax.jit
    def read(variables, x):
        return [
            jax.value_and_grad(
                lambda variables, x, module=module: (
                    module.apply(variables, x, mask=mask, deterministic=True) ** 2
                ).sum(),
                (0, 1),
            )(variables, x)
            for module in (tiled, dense)
        ]

    found, expected = read(variables, x)
    chex.assert_trees_all_close(found, expected, rtol=1e-10, atol=1e-10)


def test_a_bias_after_a_cap_and_a_learned_factor_of_one_need_weights():
    assert not Alibi(score=SoftCap()).is_fusible()
    assert not Bucketed(score=SoftCap()).is_fusible()
    assert not SoftCap(score=SoftCap()).is_fusible()
    module = Attention(score=SoftCap(), align=LearnedScale(), implementation="blockwise")
    with pytest.raises(UserError, match="LearnedScale after the cap of SoftCap around ScaledDot"):
        module.init(jax.random.key(0), jnp.zeros((1, 3, 4)), deterministic=True)
    with pytest.raises(ValueError, match="before their cap"):
        SoftCap().as_dot_product(*jnp.zeros((2, 1, 3, 4)), Positions()).plus(Partial(tilted))
    with pytest.raises(ValueError, match="by a known number only"):
        SoftCap().as_dot_product(*jnp.zeros((2, 1, 3, 4)), Positions()).times(jnp.ones(()))


@pytest.mark.parametrize(
    "extra, words",
    [({"cap": CAP}, "a cap of logits"), ({"sink": jnp.zeros((1, 1, 1))}, "a sink of the softmax")],
)
def test_splash_takes_both_and_cudnn_neither(extra, words):
    x = jnp.zeros((1, 8, 8), jnp.bfloat16)
    inputs = Inputs(x, x, x, **extra)
    assert cudnn_refuses(inputs) == words
    assert splash_refuses(inputs) is None


def test_the_function_takes_both(float64):
    (query, key, value, sink, _), _ = drawn()

    @jax.jit
    def read(query, key, value, sink):
        logits = soft_cap(ScaledDot().apply({}, query, key, Positions()), CAP)
        allowed = jnp.broadcast_to(jnp.tri(T, dtype=bool), logits.shape)
        expected = weighted_sum(softmax_with_sink(logits, allowed, sink), value)
        found = fused(query, key, value, Causal(), cap=CAP, sink=sink, layout="BNTH")
        return found, expected

    np.testing.assert_allclose(*read(query, key, value, sink[:1]), rtol=0, atol=1e-12)
