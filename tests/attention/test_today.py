"""Soft cap, buckets of distances, scaled rotary angles, latent and differential heads, unions."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.adaptive_temperature import adaptive_softmax
from attnjax.attention.attention import Attention
from attnjax.attention.blocks import BlockRange
from attnjax.attention.bucketed_score import Bucketed, distance_bucket
from attnjax.attention.capped_score import SoftCap
from attnjax.attention.differential import DifferentialHeads
from attnjax.attention.hard_alibi import HardAlibi
from attnjax.attention.kernel_score import Boxcar
from attnjax.attention.latent import LatentAttention
from attnjax.attention.mask import Causal, Mask, Padding, Prefix, Window
from attnjax.attention.multihead import MultiHead
from attnjax.attention.position import Positions
from attnjax.attention.position_score import Alibi, Rotary, rotary
from attnjax.attention.rotary_scaling import (
    Interpolated,
    LargerBase,
    RotaryScaling,
    Yarn,
    unscaled_rates,
)
from attnjax.attention.score import Dot, soft_cap
from attnjax.attention.talking_heads import TalkingHeads
from attnjax.errors import UserError
from tests.attention import oracle

B, T, D, H = 2, 6, 8, 2
AT = Positions(jnp.arange(T)[None], jnp.arange(T)[None])
CAUSAL = np.tri(T, dtype=bool)


def drawn(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=shape or (B, T, D)))


def initial(module, *inputs):
    return jax.jit(partial(module.init, deterministic=True))(jax.random.key(0), *inputs)


def called(module, variables, *inputs, **options):
    apply = partial(module.apply, deterministic=True)
    return jax.jit(apply)(variables, *inputs, **options)


def test_a_soft_cap_bounds_logits_and_leaves_small_ones(float64):
    logits = jnp.array([-1e4, -3.0, 0.0, 1e-3, 7.0])[None]
    capped = soft_cap(logits, 5.0)
    np.testing.assert_allclose(capped, 5 * np.tanh(np.asarray(logits) / 5), atol=1e-12)
    assert (abs(capped) <= 5).all()
    np.testing.assert_allclose(capped[0, 3], 1e-3, rtol=1e-7)


def test_a_soft_cap_stands_around_positions_and_before_the_mask(float64):
    x = drawn()
    module = Attention(score=SoftCap(score=Alibi(), cap=1.5))
    context = called(module, {}, x, mask=Causal())
    for sentence, got in zip(np.asarray(x), context, strict=True):
        bias = -(2.0**-8) * abs(np.subtract.outer(np.arange(T), np.arange(T)))
        logits = 1.5 * np.tanh((oracle.scaled_dot(sentence, sentence) + bias) / 1.5)
        np.testing.assert_allclose(got, oracle.softmax(logits, CAUSAL) @ sentence, atol=1e-12)


@pytest.mark.parametrize("kind", [SoftCap, Bucketed])
def test_a_kernel_has_no_logits_to_change(kind):
    with pytest.raises(UserError, match=r"a kernel is none.*got Boxcar"):
        initial(Attention(score=kind(score=Boxcar(3.0))), jnp.zeros((1, T, D)))


def test_buckets_hold_near_distances_alone_and_far_ones_by_their_logarithm():
    ahead = jnp.arange(-200, 201)
    bucket = dict(
        zip(ahead.tolist(), distance_bucket(ahead, buckets=32, most=128).tolist(), strict=True)
    )
    # T5's own numbers of bidirectional buckets
    assert [bucket[-d] for d in range(8)] == list(range(8))
    assert [bucket[d] for d in range(1, 8)] == list(range(17, 24))
    for distance, number in ((8, 8), (11, 8), (12, 9), (16, 10), (32, 12), (64, 14), (90, 14)):
        assert bucket[-distance] == number, distance
    assert bucket[-91] == bucket[-200] == 15
    assert bucket[91] == bucket[200] == 31
    past = distance_bucket(ahead, buckets=32, most=128, both_sides=False)
    assert past.max() == 31
    assert (past[200:] == 0).all()
    assert (jnp.diff(past[:200]) <= 0).all()


def test_each_distance_gets_the_number_of_its_bucket(float64):
    x = drawn()
    module = MultiHead(head=Attention(score=Bucketed(score=Dot(), buckets=8, most=4)), heads=H)
    variables = initial(module, x)
    table = np.random.default_rng(1).normal(size=(H, 8))
    variables["params"]["head"]["score"]["by_bucket"] = jnp.asarray(table)
    own = jax.tree.map(np.asarray, variables["params"])
    bucket = np.asarray(distance_bucket(jnp.arange(-T, T + 1), buckets=8, most=4))
    context = called(module, variables, x)
    for sentence, got in zip(np.asarray(x), context, strict=True):
        merged = 0
        for h in range(H):
            q, k, v = (sentence @ own[name]["kernel"][:, h] for name in ("query", "key", "value"))
            logits = q @ k.T + [[table[h, bucket[s - t + T]] for s in range(T)] for t in range(T)]
            weights = oracle.softmax(logits, np.ones((T, T), bool))
            merged = merged + weights @ v @ own["out"]["kernel"][h]
        np.testing.assert_allclose(got, merged, rtol=0, atol=1e-11)


@pytest.mark.parametrize("buckets, most", [(2, 16), (32, 8)])
def test_buckets_without_room_are_refused(buckets, most):
    module = Attention(score=Bucketed(buckets=buckets, most=most))
    with pytest.raises(UserError, match=f"got {buckets} buckets on both sides, most {most}"):
        initial(module, jnp.zeros((1, T, D)))


def test_interpolated_angles_are_those_of_nearer_words(float64):
    x = drawn()
    turned = rotary(x, 8 * AT.query, scaling=Interpolated(factor=8.0))
    np.testing.assert_allclose(turned, rotary(x, AT.query), rtol=0, atol=1e-12)


def test_a_larger_base_keeps_the_fastest_pair_and_divides_the_slowest():
    own, scaled = unscaled_rates(64, 1e4), LargerBase(factor=8.0).rates(64, 1e4)
    np.testing.assert_allclose(scaled[0], own[0], rtol=1e-12)
    np.testing.assert_allclose(scaled[-1], own[-1] / 8, rtol=1e-12)
    assert ((own / 8 <= scaled * (1 + 1e-12)) & (scaled <= own * (1 + 1e-12))).all()


def test_yarn_divides_slow_pairs_alone_between_the_pairs_of_its_program():
    scaling = Yarn(factor=16.0, trained_length=4096)
    own, scaled = unscaled_rates(128, 1e4), scaling.rates(128, 1e4)
    # find_correction_range(32, 1, 128, 10000, 4096) of the authors' program
    low, high = 20, 46
    np.testing.assert_allclose(scaled[: low + 1], own[: low + 1], rtol=1e-12)
    np.testing.assert_allclose(scaled[high:], own[high:] / 16, rtol=1e-12)
    share = (33 - low) / (high - low)
    np.testing.assert_allclose(scaled[33], own[33] * (1 - share) + own[33] / 16 * share, rtol=1e-12)
    turns = own * 4096 / (2 * np.pi)
    assert turns[low] >= 32 > turns[low + 1]
    assert turns[high - 1] > 1 >= turns[high]


@pytest.mark.parametrize(
    "scaling",
    [Interpolated(), LargerBase(), Yarn(trained_length=8)],
    ids=lambda x: type(x).__name__,
)
def test_scaled_angles_depend_on_distances_alone(scaling: RotaryScaling, float64):
    query, key = drawn(1, T, D), drawn(2, T, D)[1:]
    score = Rotary(scaling=scaling)
    logits = score.apply({}, query, key, AT)
    moved = score.apply({}, query, key, Positions(AT.query + 50, AT.key + 50))
    np.testing.assert_allclose(moved, logits, rtol=0, atol=1e-11)
    q, k = (rotary(x, AT.query, scaling=scaling) for x in (query, key))
    expected = np.einsum("btk,bsk->bts", q, k) / D**0.5 * scaling.temperature()
    np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-12)


def test_a_factor_below_one_is_refused():
    with pytest.raises(UserError, match=r"Yarn.factor must be at least 1; got 0.5"):
        Yarn(factor=0.5)


def latent_contexts(own, x, rank, of_key, turned, allowed):
    """The equations of a latent attention, head by head, of one sentence."""
    c = x @ own["latent"]["kernel"]
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * own["latent_norm"]["scale"]
    shared = x @ own["shared_key"]["kernel"]
    turn = np.asarray(rotary(jnp.asarray(shared), AT.key[0]))
    merged = 0
    for head in range(H):
        q = x @ own["query"]["kernel"][:, head]
        turned_query = np.asarray(rotary(jnp.asarray(q[:, of_key:]), AT.query[0]))
        key, value = c @ own["key_map"][head], c @ own["value_map"][head]
        logits = (q[:, :of_key] @ key.T + turned_query @ turn.T) / np.sqrt(of_key + turned)
        merged = merged + oracle.softmax(logits, allowed) @ value @ own["out"]["kernel"][head]
    return merged


@pytest.mark.parametrize("rank", [2, 40], ids=["absorbed", "keys of each head"])
def test_latent_heads_equal_their_equations(rank, float64):
    x = drawn()
    module = LatentAttention(heads=H, latent_width=rank, rotary_width=2, key_width=3)
    variables = initial(module, x)
    own = jax.tree.map(np.asarray, variables["params"])
    context = called(module, variables, x, mask=Causal())
    for sentence, got in zip(np.asarray(x), context, strict=True):
        expected = latent_contexts(own, sentence, rank, 3, 2, CAUSAL)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11)


def test_a_latent_search_keeps_few_numbers_and_equals_all_words_at_once(float64):
    x = drawn()
    module = LatentAttention(heads=H, latent_width=40, rotary_width=2)
    variables = initial(module, x)
    together = called(module, variables, x, mask=Causal())
    memory = module.apply(variables, x, x, method="prepare")
    assert [leaf.shape for leaf in jax.tree.leaves(memory)] == [(B, T, 40), (B, T, 2)]
    for place in range(T):
        at = Positions(query=jnp.full((B, 1), place))
        word = module.apply(
            variables,
            x[:, place : place + 1],
            memory,
            Causal(),
            positions=at,
            deterministic=True,
            method="attend",
        )
        np.testing.assert_allclose(word[:, 0], together[:, place], rtol=0, atol=1e-12)


def test_a_latent_head_of_another_score_is_refused():
    module = LatentAttention(head=Attention(score=Rotary()), heads=H)
    with pytest.raises(UserError, match=r"wants a head of the score ScaledDot.*got Rotary"):
        initial(module, jnp.zeros((1, T, D)))


def test_differential_heads_equal_their_equations(float64):
    x = drawn()
    module = DifferentialHeads(heads=4, initial_lambda=0.6)
    variables = initial(module, x)
    gains = np.random.default_rng(1).uniform(0.5, 2, 4)
    variables["params"]["context_norm"]["scale"] = jnp.asarray(gains)
    own = jax.tree.map(np.asarray, variables["params"])
    a, b, c, d = (own[f"lambda_{name}"] for name in "abcd")
    amount = np.exp(a @ b) - np.exp(c @ d) + 0.6
    context = called(module, variables, x, mask=Causal())
    for sentence, got in zip(np.asarray(x), context, strict=True):
        merged = 0
        for pair in range(2):
            value = sentence @ own["value"]["kernel"][:, pair]
            first, second = (
                oracle.softmax(
                    oracle.scaled_dot(
                        sentence @ own["query"]["kernel"][:, 2 * pair + i],
                        sentence @ own["key"]["kernel"][:, 2 * pair + i],
                    ),
                    CAUSAL,
                )
                for i in (0, 1)
            )
            of_pair = (first - amount * second) @ value
            of_pair = of_pair / np.sqrt((of_pair**2).mean(-1, keepdims=True) + 1e-5) * gains
            merged = merged + (1 - 0.6) * of_pair @ own["out"]["kernel"][pair]
        np.testing.assert_allclose(got, merged, rtol=0, atol=1e-11)


def test_differential_heads_have_as_many_parameters_as_plain_ones():
    x = jnp.zeros((1, T, D))
    count = [
        sum(leaf.size for leaf in jax.tree.leaves(initial(module, x)))
        for module in (DifferentialHeads(heads=4, context_norm=None), MultiHead(heads=4))
    ]
    assert count[0] == count[1] + 4 * D // 4  # the vectors of lambda


@pytest.mark.parametrize(
    "module",
    [DifferentialHeads(heads=6, key_width=2), LatentAttention(heads=3, key_width=2)],
    ids=lambda module: type(module).__name__,
)
def test_heads_that_do_not_divide_the_width_are_refused_for_their_values_too(module):
    with pytest.raises(UserError, match=r"heads do not divide the width 8: .* value_width"):
        initial(module, jnp.zeros((1, T, D)))


@pytest.mark.parametrize("options", [{"heads": 3}, {"heads": 4, "key_heads": 2}])
def test_heads_without_pairs_are_refused(options):
    with pytest.raises(UserError, match="wants an even number of heads, in pairs"):
        initial(DifferentialHeads(**options), jnp.zeros((1, T, D)))


def test_a_union_allows_what_either_allows_in_tiles_too():
    masks = Window(1, 0), Prefix(2), Prefix(1, of="query")
    union = masks[0] | masks[1] | masks[2]
    expected = np.logical_or.reduce([np.broadcast_to(m.dense(AT), (1, T, T)) for m in masks])
    np.testing.assert_array_equal(np.broadcast_to(union.dense(AT), (1, T, T)), expected)
    numbers = np.arange(T)[None]
    tiles = union.block(BlockRange.of(numbers, 2), BlockRange.of(numbers, 2))
    blocks = expected.reshape(1, T // 2, 2, T // 2, 2)
    assert (np.asarray(tiles.any) >= blocks.any((2, 4))).all()
    assert (np.asarray(tiles.all) <= blocks.all((2, 4))).all()
    assert not np.asarray(tiles.any).all()
    assert np.asarray(tiles.all).any()
    assert union.has_blocks()


def test_a_union_in_an_attention_equals_its_booleans(float64):
    x = drawn()
    union = Window(1, 0) | Prefix(1)
    inner = Attention(mask=union)
    context = called(inner, {}, x, mask=Causal())
    allowed = np.asarray(jnp.broadcast_to((union & Causal()).dense(AT), (1, T, T)))[0]
    for sentence, got in zip(np.asarray(x), context, strict=True):
        weights = oracle.softmax(oracle.scaled_dot(sentence, sentence), allowed)
        np.testing.assert_allclose(got, weights @ sentence, rtol=0, atol=1e-12)


class NoBlocks(Mask):
    """A mask of one's own that no fused kernel can read."""

    def dense(self, positions):
        return positions.key[..., None, :] >= 0


def test_a_union_with_a_rule_that_has_no_blocks_has_none_under_another_rule_either():
    assert (Causal() & (Window(1, 0) | Prefix(1))).has_blocks()
    assert not (NoBlocks() | Prefix(1)).has_blocks()
    assert not (Causal() & (NoBlocks() | Prefix(1))).has_blocks()


def test_a_union_hides_what_all_hide():
    present = jnp.array([[True, True, False, False]])
    other = jnp.array([[False, True, True, False]])
    union = Padding(present) | Padding(other)
    np.testing.assert_array_equal(union.seen_keys(), present | other)
    assert (Padding(present) | Prefix(1)).seen_keys() is None
    with pytest.raises(UserError, match="wants a rule without arrays"):
        initial(Attention(mask=union), jnp.zeros((1, 4, D)))


def test_talking_heads_equal_their_equation_and_start_as_heads_alone(float64):
    x = drawn()
    module = MultiHead(head=Attention(align=TalkingHeads()), heads=H)
    variables = initial(module, x)
    plain = {"params": {k: v for k, v in variables["params"].items() if k != "head"}}
    alone = called(MultiHead(heads=H), plain, x, mask=Causal())
    np.testing.assert_allclose(called(module, variables, x, mask=Causal()), alone, atol=1e-12)
    before, after = np.random.default_rng(1).normal(size=(2, H, H))
    rows = {"logits_row": jnp.asarray(before), "weights_row": jnp.asarray(after)}
    variables["params"]["head"]["align"] = rows
    own = jax.tree.map(np.asarray, variables["params"])
    context = called(module, variables, x, mask=Causal())
    for sentence, got in zip(np.asarray(x), context, strict=True):
        q, k, v = (
            [sentence @ own[name]["kernel"][:, h] for h in range(H)]
            for name in ("query", "key", "value")
        )
        logits = np.array([oracle.scaled_dot(q[h], k[h]) for h in range(H)])
        logits = np.einsum("gh,hts->gts", before, logits)
        weights = np.array([oracle.softmax(one, CAUSAL) for one in logits])
        weights = np.einsum("gh,hts->gts", after, weights)
        expected = sum(weights[h] @ v[h] @ own["out"]["kernel"][h] for h in range(H))
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11)


def test_a_head_of_hard_alibi_sees_its_nearest_words(float64):
    x = drawn()
    module = MultiHead(head=Attention(align=HardAlibi(unbounded=1)), heads=4)
    variables = initial(module, x)
    _, sown = module.apply(variables, x, mask=Causal(), deterministic=True, mutable=["attention"])
    (weights,) = sown["attention"]["head"]["weights"]
    back = np.subtract.outer(np.arange(T), np.arange(T))
    for head, most in enumerate((0, 1, 2, T)):
        seen = (back >= 0) & (back <= most)
        assert ((np.asarray(weights[0, head]) > 0) == seen).all()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-12)


def test_an_adaptive_temperature_follows_its_polynomial(float64):
    random = np.random.default_rng(0)
    logits = random.normal(size=(1, 3, 64)) * np.array([30.0, 1.0, 0.3])[:, None]
    mask = random.random((1, 3, 64)) < 0.8
    weights = adaptive_softmax(jnp.asarray(logits), jnp.asarray(mask))
    thetas = []
    for row, allowed, got in zip(logits[0], mask[0], weights[0], strict=True):
        plain = oracle.softmax(row[None], allowed[None])[0]
        entropy = -sum(p * np.log(p) for p in plain if p > 0)
        theta = (
            -0.037 * entropy**4 + 0.481 * entropy**3 - 2.3 * entropy**2 + 4.917 * entropy - 1.791
        )
        theta = max(theta, 1) if entropy > 0.5 else 1
        thetas.append(theta)
        np.testing.assert_allclose(
            got, oracle.softmax(theta * row[None], allowed[None])[0], atol=1e-12
        )
    assert thetas[0] == 1
    assert min(thetas[1:]) > 1
