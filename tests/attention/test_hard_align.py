"""Attention that draws one key: its distribution, what it sows, its gradients, empty rows."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn
from jax.test_util import check_grads

from attnjax.attention.align.base import AlignContext
from attnjax.attention.align.one_hot import (
    Hard,
    StraightThrough,
    gumbel,
    hard,
    log_softmax,
    straight_through,
)
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import DenseMask
from attnjax.attention.position import Positions
from attnjax.attention.score.base import Dot
from attnjax.config.constraints import check_fields
from attnjax.errors import UserError
from attnjax.nn.lift import scan_time
from tests import jitted
from tests.attention import oracle

KEY = jax.random.key(5)
B, T, S = 6, 3, 4
KEYS = {"sample": KEY, "coin": jax.random.key(6)}


def rows(seed: int = 0):
    """Logits [B, T, S] and a mask in which row 1 of every example is empty."""
    random = np.random.default_rng(seed)
    mask = random.random((B, T, S)) < 0.7
    mask[..., 0] = True
    mask[:, 1] = False
    return random.normal(0, 2, (B, T, S)), mask


def look(align, logits, mask=None, **keys):
    """Weights, and what is sown."""
    sowing = {"mutable": ["objective"], "rngs": keys}
    weights, sown = jitted.apply(align, {}, logits, mask, None, **sowing)
    return weights, {name: values[0] for name, values in sown.get("objective", {}).items()}


def test_keys_are_drawn_with_the_probabilities_of_the_softmax():
    logits, mask = np.array([0.3, -1.0, 2.0, 1.2]), np.array([True, True, False, True])
    many = np.broadcast_to(np.float32(logits), (4000, 5, S))
    drawn = np.asarray(jax.jit(hard)(many, np.broadcast_to(mask, many.shape), KEY))
    assert set(np.unique(drawn)) == {0.0, 1.0}
    np.testing.assert_array_equal(drawn.sum(-1), 1)
    expected = oracle.softmax(logits[None], mask[None])[0]
    # Five standard deviations of a share, over all draws and for each of the five rows.
    for axes, count in (((0, 1), 20_000), ((0,), 4_000)):
        deviation = 5 * np.sqrt(expected * (1 - expected) / count)
        assert (np.abs(drawn.mean(axes) - expected) <= deviation).all()


@pytest.mark.parametrize("align", [hard, straight_through])
def test_draws_of_half_precision_are_as_fair(align):
    """Added to a bfloat16 of 200 a draw would be rounded to whole numbers, the first of equals."""
    drawn = jax.jit(align)(jnp.asarray(np.full((5_000, 1, S), 200.0), jnp.bfloat16), None, KEY)
    assert drawn.dtype == jnp.bfloat16
    deviation = 5 * (3 / 16 / 5_000) ** 0.5
    np.testing.assert_allclose(np.asarray(drawn, np.float32).mean((0, 1)), 1 / 4, atol=deviation)


def test_the_draw_depends_on_the_example_and_not_on_the_batch():
    logits, align = np.zeros((8, 16, S)), jax.jit(hard)
    whole = np.asarray(align(logits, None, KEY))
    np.testing.assert_array_equal(align(logits[:3], None, KEY), whole[:3])
    mapped = jax.jit(jax.vmap(lambda x: hard(x, None, KEY), axis_name="data"))
    shares = mapped(logits.reshape(4, 2, 16, S))
    np.testing.assert_array_equal(np.reshape(shares, whole.shape), whole)
    assert (whole[1] != whole[0]).any()
    assert (align(logits, None, jax.random.key(0)) != whole).any()


def test_what_nobody_would_teach_is_not_drawn():
    logits = np.zeros((B, T, S))
    asked = AlignContext(logits, Positions(np.arange(T)[None], np.arange(S)[None]))
    with pytest.raises(UserError, match="Hard is trained by the objective Reinforce only"):
        jitted.apply(Hard(), {}, logits, None, asked, rngs=KEYS)


@pytest.mark.parametrize("align", [Hard(), StraightThrough()])
def test_without_a_key_the_most_probable_is_taken(align):
    logits, mask = rows()
    weights, _ = look(align, logits, mask)
    best = np.where(mask, logits, -np.inf).argmax(-1)
    expected = np.eye(S)[best] * mask.any(-1)[..., None]
    np.testing.assert_array_equal(weights, expected)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("coin", [0.0, 0.5])
def test_what_is_sown_is_of_the_key_that_was_drawn(coin):
    logits, mask = rows()
    weights, sown = look(Hard(coin), logits, mask, **KEYS)
    soft = 0
    for b in range(B):
        p = oracle.softmax(logits[b], mask[b])
        is_soft = np.allclose(weights[b], p)
        soft += is_soft
        for t in range(T):
            row = p[t][p[t] > 0]
            entropy = -(row * np.log(row)).sum()
            assert sown["entropy"][b, t] == pytest.approx(entropy, abs=1e-12)
            drawn = 0.0
            if mask[b, t].any() and not is_soft:
                assert sorted(weights[b, t]) == [0, 0, 0, 1]
                drawn = np.log(p[t, int(weights[b, t].argmax())])
            assert sown["log_probability"][b, t] == pytest.approx(drawn, abs=1e-12)
    assert (0 < soft < B) if coin else soft == 0


@pytest.mark.usefixtures("float64")
def test_gradients_are_those_of_what_is_sown_and_of_soft_examples_alone():
    logits, mask = rows()

    @jax.jit
    def total(logits):
        sown = look(Hard(0.5), logits, mask, **KEYS)[1]
        return jnp.stack([sown[name].sum() for name in ("log_probability", "entropy")])

    check_grads(total, (logits,), order=1)
    read = np.random.default_rng(1).normal(size=(B, T, S))

    @partial(jax.grad, has_aux=True)
    def pull(logits):
        weights, _ = look(Hard(0.5), logits, mask, **KEYS)
        return (weights * read).sum(), weights

    slope, weights = jax.device_get(jax.jit(pull)(logits))
    for b in range(B):
        p = oracle.softmax(logits[b], mask[b])
        if np.allclose(weights[b], p):
            exact = p * (read[b] - (p * read[b]).sum(-1, keepdims=True))
            np.testing.assert_allclose(slope[b], exact, atol=1e-12)
        else:
            assert not np.any(slope[b])


@pytest.mark.usefixtures("float64")
def test_straight_through_is_hard_forwards_and_the_softmax_backwards():
    logits, mask = rows()
    temperature, read = 0.7, np.random.default_rng(1).normal(size=(B, T, S))

    @jax.jit
    def both(logits):
        def total(logits):
            weights = straight_through(logits, mask, KEY, temperature)
            return (weights * read).sum(), weights

        slope, weights = jax.grad(total, has_aux=True)(logits)
        return slope, weights, hard(logits, mask, KEY), gumbel(KEY, logits.shape)

    slope, weights, drawn, noise = jax.device_get(both(logits))
    np.testing.assert_array_equal(weights, drawn)
    perturbed = logits + np.float64(noise)
    for b in range(B):
        p = oracle.softmax(perturbed[b] / temperature, mask[b])
        exact = p * (read[b] - (p * read[b]).sum(-1, keepdims=True)) / temperature
        np.testing.assert_allclose(slope[b], exact, atol=1e-12)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
@pytest.mark.parametrize("align", [Hard(), StraightThrough()])
@pytest.mark.parametrize("keys", [{}, KEYS], ids=["probable", "drawn"])
def test_hidden_keys_and_empty_rows_move_nothing(align, keys, dtype):
    logits, mask = rows()
    # What is hidden may be anything.
    logits = jnp.asarray(np.where(mask, logits, np.nan), dtype)
    read = jnp.asarray(np.random.default_rng(1).normal(size=(B, T, S)), dtype)

    def loss(logits):
        weights, sown = look(align, logits, mask, **keys)
        total = (weights * read).sum()
        return total + sum(values.sum() for values in sown.values()), (weights, sown)

    slope, (weights, sown) = jax.jit(jax.grad(loss, has_aux=True))(logits)
    assert weights.dtype == dtype
    for array in (weights, slope):
        assert not np.asarray(array, np.float32)[~mask].any()
    for values in sown.values():
        assert np.isfinite(np.asarray(values, np.float32)).all()
        assert not np.asarray(values, np.float32)[:, 1].any()


def test_a_coin_is_tossed_once_for_all_of_time():
    class Steps(nn.Module):
        align: Hard

        @nn.compact
        def __call__(self, logits):
            def step(module, carry, now):
                return carry, module.align(now, None, None)

            return scan_time(step)(self, jnp.zeros(logits.shape[0]), logits)[1]

    logits = np.broadcast_to(np.arange(4.0), (64, 5, 1, 4))
    read = jax.jit(lambda: Steps(Hard()).apply({}, logits, rngs=KEYS, mutable=["objective"]))
    weights, sown = read()
    soft = (np.asarray(weights).max(-1) < 1)[..., 0]
    assert (soft == soft[:, :1]).all()
    assert 0.25 < soft.mean() < 0.75
    # Draws, in contrast, are each word's own.
    drawn = np.asarray(weights).argmax(-1)[~soft[:, 0], :, 0]
    assert (drawn != drawn[:, :1]).any()
    (logs,) = sown["objective"]["align"]["log_probability"]
    assert logs.shape == (64, 5, 1)
    np.testing.assert_array_equal(logs[..., 0] == 0, soft)


def test_a_coin_is_tossed_once_for_all_heads():
    attention = MultiHead(head=Attention(align=Hard()), heads=3)
    x = np.random.default_rng(0).normal(size=(64, 4, 6))

    @jax.jit
    def read():
        init = partial(attention.init, deterministic=True, mutable=["params"])
        shown = ["attention", "objective"]
        call = partial(attention.apply, deterministic=False, rngs=KEYS, mutable=shown)
        return call(init(jax.random.key(0), x, x, x), x, x, x)[1]["attention"]

    (weights,) = read()["head"]["weights"]
    soft = (np.asarray(weights).max(-1) < 1).reshape(64, -1)
    assert (soft == soft[:, :1]).all()
    assert 0.25 < soft.mean() < 0.75


def test_the_context_is_the_value_that_was_drawn():
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    nobody = DenseMask(np.broadcast_to([[[True]], [[False]]], (2, 3, 3)))
    attend = partial(
        Attention(score=Dot(), align=Hard(0.0)).apply, deterministic=True, mutable=True
    )
    context, sown = jax.device_get(jax.jit(lambda: attend({}, x, x, x, nobody, rngs=KEYS))())
    (weights,) = sown["attention"]["weights"]
    # The context is the value that was drawn, and 0 where there is none.
    np.testing.assert_allclose(context[0], x[0, weights[0].argmax(-1)], rtol=1e-6)
    assert not np.any(context[1])


def test_log_softmax_is_finite_and_right_where_it_is_allowed():
    logits, mask = rows()
    logs = np.asarray(jax.jit(log_softmax)(logits, mask))
    assert np.isfinite(logs).all()
    assert not logs[~mask].any()
    for b in range(B):
        p = oracle.softmax(logits[b], mask[b])
        np.testing.assert_allclose(logs[b][mask[b]], np.log(p[mask[b]]), rtol=1e-5, atol=1e-6)


def test_fields_out_of_range():
    with pytest.raises(UserError, match="soft_probability: wanted float at least 0 and at most 1"):
        check_fields(Hard(1.5))
    with pytest.raises(UserError, match="the temperature must be above 0; got 0"):
        look(StraightThrough(0.0), np.zeros((1, 2, 3)))
