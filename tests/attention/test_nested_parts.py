"""Parts within parts of today's attention: what is refused, who sees what, in every dtype."""

from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.around import HardAlibi, TalkingHeads
from attnjax.attention.align.base import Normalize
from attnjax.attention.attention import Attention
from attnjax.attention.heads.differential import DifferentialHeads
from attnjax.attention.heads.latent import LatentAttention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import And, Causal, DenseMask, Padding, Prefix, Segments, Window
from attnjax.attention.position import Positions
from attnjax.attention.score.bias import Forgetting
from attnjax.attention.score.bucketed import distance_bucket
from attnjax.attention.score.kernel import SquaredExponential
from attnjax.attention.state.recurrent import DeltaRule
from attnjax.errors import UserError
from tests import jitted

KERNEL = SquaredExponential()


def call(module):
    init = partial(module.init, deterministic=True)
    return jax.eval_shape(init, jax.random.key(0), np.zeros((1, 3, 4)))


@pytest.mark.parametrize(
    "module, sentence",
    [
        (
            Attention(align=HardAlibi(align=Normalize())),
            "wants a score that is a kernel.*ScaledDot",
        ),
        (
            Attention(score=KERNEL, align=Normalize(), bias=Forgetting()),
            "leave out the bias Forgetting",
        ),
        (
            Attention(score=KERNEL, align=TalkingHeads(align=Normalize())),
            "TalkingHeads mixes logits.*got Normalize",
        ),
        (
            Attention(score=KERNEL, align=TalkingHeads(align=HardAlibi(align=Normalize()))),
            "TalkingHeads mixes logits.*got Normalize",
        ),
        (MultiHead(head=DeltaRule(), heads=2, key_heads=1), "DeltaRule computes numbers"),
        (
            MultiHead(head=Attention(bias=Forgetting()), heads=2, key_heads=1),
            "Forgetting computes numbers",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(module, sentence):
    with pytest.raises(UserError, match=sentence):
        call(module)


T = 11
WORDS = np.arange(T)
PRESENT = WORDS[None] < np.array([[T], [6]])
SEGMENT = np.broadcast_to((WORDS >= 5) * 1, (2, T))
UNIONS = {
    "no rule, so all": And() | Prefix(1),
    "padding within": (Padding(PRESENT) & Window(2, 0)) | (Prefix(2) & Padding(PRESENT)),
    "padding alone": Padding(PRESENT) | Prefix(1),
    "segments": (Segments(SEGMENT, SEGMENT) & Window(2, 0)) | Prefix(1, of="query"),
    "an array": DenseMask(np.random.default_rng(3).random((1, T, T)) < 0.3) | Prefix(1),
}


@pytest.mark.parametrize("key_heads", [None, 1])
@pytest.mark.parametrize("name", UNIONS)
def test_a_union_that_holds_arrays_is_read_by_tiles(name, key_heads, float64, monkeypatch):
    monkeypatch.setattr("attnjax.attention.fused.blockwise._side", lambda length: 4)
    x, mask = np.random.default_rng(0).normal(size=(2, T, 4)), UNIONS[name] & Causal()
    dense, tiled = (
        MultiHead(head=Attention(implementation=how), heads=2, key_heads=key_heads)
        for how in ("dense", "blockwise")
    )
    assert mask.has_blocks()
    variables = jitted.drawn(dense, x, deterministic=True)

    @jax.jit
    def read(variables, x):
        def total(variables, x, module):
            return (module.apply(variables, x, mask=mask, deterministic=True) ** 2).sum()

        slopes = jax.value_and_grad(total, (0, 1))
        return slopes(variables, x, tiled), slopes(variables, x, dense)

    chex.assert_trees_all_close(*read(variables, x), rtol=0, atol=1e-11)


def test_a_prefix_of_packed_rows_is_each_sentences_own(float64):
    x = np.random.default_rng(0).normal(size=(2, T, 4))
    at = WORDS[None] - 5 * SEGMENT
    module = Attention(mask=Window(1, 0) | Prefix(2))
    mask = Segments(SEGMENT, SEGMENT) & Causal()
    read = partial(jitted.apply, module, {}, deterministic=True)
    packed = read(x, mask=mask, positions=Positions(at, at))
    for start, end in ((0, 5), (5, T)):
        alone = read(x[:, start:end], mask=Causal())
        np.testing.assert_allclose(packed[:, start:end], alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", [{"length": 0}, {"of": "keys"}])
def test_a_prefix_of_nothing_is_refused(options):
    with pytest.raises(UserError, match="Prefix wants a length of at least 1, of"):
        Prefix(**options)


def test_pairs_of_differential_heads_are_taken_out_and_no_others():
    x = np.random.default_rng(0).normal(size=(1, T, 8)).astype(np.float32)
    whole = DifferentialHeads(heads=4)
    variables = jitted.drawn(whole, x, deterministic=True)
    all_pairs, *one_each = (
        jitted.apply(whole.clone(heads_out=out), variables, x, deterministic=True)
        for out in ((), (0,), (1,))
    )
    np.testing.assert_allclose(sum(one_each), all_pairs, rtol=0, atol=1e-5)
    with pytest.raises(UserError, match="the pairs are 0 to 1"):
        call(DifferentialHeads(heads=4, heads_out=(2,)))


def test_the_vectors_of_lambda_are_as_wide_as_keys_whatever_the_values():
    for options, width in (({}, 4), ({"value_width": 6}, 4), ({"key_width": 3}, 3)):
        module = DifferentialHeads(heads=2, **options)
        params = jitted.drawn(module, np.zeros((1, 3, 8)), deterministic=True)["params"]
        assert params["lambda_a"].shape == (width,)


@pytest.mark.parametrize(
    "head",
    [
        MultiHead(head=Attention(align=TalkingHeads(), dropout=0.5), heads=2),
        DifferentialHeads(head=Attention(dropout=0.5), heads=2),
        LatentAttention(
            head=Attention(dropout=0.5), heads=2, latent_width=2, rotary_width=2, key_width=2
        ),
        LatentAttention(
            head=Attention(dropout=0.5), heads=2, latent_width=40, rotary_width=2, key_width=2
        ),
    ],
    ids=["talking", "differential", "latent absorbed", "latent"],
)
def test_dropout_drops_weights_while_training_and_none_of_those_sown(head):
    x = np.random.default_rng(0).normal(size=(1, 5, 4)).astype(np.float32)
    params = jitted.drawn(head, x, deterministic=True)

    @partial(jax.jit, static_argnums=0)
    def read(deterministic, key):
        context, sown = head.apply(
            params, x, deterministic=deterministic, rngs={"dropout": key}, mutable=["attention"]
        )
        (weights,) = sown["attention"]["head"]["weights"]
        return context, weights

    whole, weights = jax.device_get(read(True, jax.random.key(1)))
    drawn = jax.device_get([read(False, jax.random.key(seed)) for seed in range(100)])
    assert weights.shape == (1, 2, 5, 5)
    for context, own in drawn[:3]:
        np.testing.assert_allclose(own, weights, rtol=1e-6)
        assert abs(context - whole).max() > 1e-3
    if not isinstance(head, DifferentialHeads):  # its norm is not linear in the weights
        mean = np.mean([context for context, _ in drawn], axis=0)
        spread = np.std([context for context, _ in drawn], axis=0) / len(drawn) ** 0.5
        assert (abs(mean - whole) < 5 * spread + 1e-6).all()


@pytest.mark.parametrize("buckets, most", [(32, 128), (8, 16), (64, 1000)])
def test_buckets_begin_where_their_logarithm_says_in_a_program_too(buckets, most):
    far = 1 + np.arange(2000) % (2 * most - 1)  # of one length: operations are programs, too
    side = buckets // 2
    exact = side // 2
    whole = exact + np.floor(np.log(far / exact) / np.log(most / exact) * (side - exact) + 1e-9)
    expected = np.where(far < exact, far, np.minimum(whole, side - 1))
    for call_it in (distance_bucket, jax.jit(distance_bucket, static_argnames=("buckets", "most"))):
        found = call_it(jnp.asarray(-far), buckets=buckets, most=most)
        np.testing.assert_array_equal(found, expected)
