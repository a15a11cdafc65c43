"""What may attend to nothing is zero, weights and gradient too; what is hidden moves nothing."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.base import LearnedScale, Normalize, Uniform
from attnjax.attention.align.local import LocalMonotonic, LocalPredictive
from attnjax.attention.align.one_hot import Hard, HardMax, StraightThrough
from attnjax.attention.align.open import ReLU, Sigmoid, Sink, Softpick, StickBreaking
from attnjax.attention.align.sparse import Entmax15, Sparsemax, TopK
from attnjax.attention.attention import Attention
from attnjax.attention.fused import fused
from attnjax.attention.heads.last_state import LastState
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.heads.selective import SelectiveHeads
from attnjax.attention.heads.self_attentive import SelfAttentive
from attnjax.attention.mask import Causal, DenseMask, Padding
from attnjax.attention.masked import fill_hidden, zero_hidden
from attnjax.attention.pool import RelativeSum
from attnjax.attention.score.base import (
    Additive,
    Dot,
    General,
    Location,
    Salience,
    ScaledDot,
    Score,
    dot,
)
from attnjax.attention.score.kernel import (
    Boxcar,
    Epanechnikov,
    Gaussian,
    LearnedGaussian,
    SquaredExponential,
    Triangular,
)
from attnjax.attention.score.positional import Alibi, Relative, Rotary
from attnjax.attention.state.feature_map import PositiveRandomFeatures
from attnjax.attention.state.linear import LinearAttention
from tests import jitted

B, T, S, D = 3, 4, 5, 4
SCORES = (Dot(), ScaledDot(), General(), Additive(), Location(max_length=S), Salience())
ALIGNED = (
    *(
        Attention(score=kind(bandwidth=9.0), align=Normalize())
        for kind in (SquaredExponential, Boxcar, Epanechnikov, Triangular)
    ),
    *(Attention(score=kind(bandwidth=2.0)) for kind in (Gaussian, LearnedGaussian)),
    *(Attention(align=align) for align in (Uniform(), LearnedScale(), HardMax())),
    *(Attention(align=align) for align in (Sparsemax(), Entmax15(), TopK(k=2))),
    *(Attention(align=align) for align in (Sink(), Sigmoid(), StickBreaking())),
    *(Attention(align=align) for align in (Softpick(), ReLU())),
    *(Attention(score=score) for score in (Rotary(), Alibi(), Relative(max_distance=2))),
    Attention(score=Relative(max_distance=2), pool=RelativeSum(max_distance=2)),
    *(Attention(align=align) for align in (Hard(), StraightThrough())),
    Attention(align=LocalMonotonic(reach=2)),
    Attention(align=LocalPredictive(reach=4)),
)
MECHANISMS = [
    *(Attention(score=score) for score in SCORES),
    *(MultiHead(head=Attention(score=score), heads=2) for score in SCORES[1:]),
    *ALIGNED,
    *(MultiHead(head=attention, heads=2) for attention in (ALIGNED[0], ALIGNED[-1])),
]
SPARSE = (Sparsemax, Entmax15, TopK, HardMax, Hard, StraightThrough, Softpick, ReLU)
QUICK = MECHANISMS[len(SCORES)]
ALONE = [one.head for one in MECHANISMS if isinstance(one, MultiHead)]
DTYPES = (jnp.float32, jnp.bfloat16, jnp.float16)


def name(mechanism) -> str:
    inner = getattr(mechanism, "head", mechanism)
    return "-".join(type(part).__name__ for part in (mechanism, inner.score, inner.align))


@pytest.mark.parametrize(
    "mechanism",
    [
        # several heads have the single one within
        pytest.param(one, marks=[pytest.mark.long] if one in ALONE else [])
        for one in MECHANISMS
    ],
    ids=name,
)
def test_hidden_keys_and_empty_rows_move_nothing(mechanism):
    draw = np.random.default_rng(0).normal
    # Sentence 0 is whole, 1 has two keys, 2 has none; query 3 of every sentence sees nothing.
    present = np.arange(S)[None] < np.array([S, 2, 0])[:, None]
    rows = np.ones((B, T, S), bool)
    rows[:, 3] = False
    mask = Padding(present) & DenseMask(rows)
    inner = getattr(mechanism, "head", mechanism)
    empty = np.zeros((B, T), bool)
    empty[2], empty[:, 3] = True, True

    def read(inputs):
        start = jitted.drawn(mechanism, *inputs, deterministic=True).get("params", {})
        start = jax.tree.map(lambda p: p.astype(inputs[0].dtype), start)

        def loss(parameters, inputs):
            context, seen = mechanism.apply(
                {"params": parameters}, *inputs, mask, deterministic=True, mutable=["attention"]
            )
            (weights,) = seen["attention"].get("head", seen["attention"])["weights"]
            return context.astype(jnp.float32).sum(), (context, weights)

        slopes, shown = jax.grad(loss, (0, 1), has_aux=True)(start, inputs)
        return shown, slopes

    def inputs(dtype):
        query, key, value = (draw(size=(B, n, D)) for n in (T, S, S))
        # Padding may hold anything finite: its logits pass the range of float16.
        key = np.where(present[..., None], key, 60_000)
        value = np.where(present[..., None], value, 500)
        return tuple(jnp.asarray(x, dtype) for x in (query, key, value))

    # float16 has the smallest range; in float32 `check_attention` tries every part
    dtypes = DTYPES if mechanism is QUICK else (jnp.float16,)
    kinds = [inputs(dtype) for dtype in dtypes]
    results = jax.jit(lambda kinds: [read(inputs) for inputs in kinds])(kinds)
    for dtype, (shown, (by_parameters, by_inputs)) in zip(dtypes, results, strict=True):
        assert shown[0].dtype == dtype
        context, weights, *by_inputs = (np.asarray(x, np.float32) for x in (*shown, *by_inputs))
        for array in (context, weights, *by_inputs, *jax.tree.leaves(by_parameters)):
            assert np.isfinite(np.asarray(array, np.float32)).all()
        by_query, by_key, by_value = by_inputs
        assert (context[empty] == 0).all()
        for head in [weights] if weights.ndim == 3 else weights.swapaxes(0, 1):
            assert (head[empty] == 0).all()
            sums = head.sum(-1)[~empty]
            if not inner.align.may_be_zero:
                least = 0.1 if isinstance(inner.align, LocalPredictive) else 0.99
                assert ((sums > least) & (sums < 1.01)).all()
        assert (by_query[empty] == 0).all()
        assert (by_key[~present] == 0).all()
        assert (by_value[~present] == 0).all()
        # The rest does move, so the zeros above are not everywhere.
        flat = isinstance(inner.align, Uniform | HardMax | Hard) or isinstance(inner.score, Boxcar)
        unread = flat or isinstance(inner.score, Salience)
        assert by_query[~empty].any() != unread
        unseen = flat or isinstance(inner.score, Location)
        assert by_key[present].any() != unseen
        moved = by_value[present] != 0
        assert moved.any() if isinstance(inner.align, SPARSE) else moved.all()


def test_a_batch_of_empty_rows_moves_no_parameter():
    mechanism = MultiHead(head=Attention(score=Additive(), align=LocalPredictive()), heads=2)
    x = np.float32(np.random.default_rng(0).normal(size=(1, 3, 4)))
    nobody = Padding(np.zeros((1, 3), bool)) & Causal()

    @jax.jit
    @jax.grad
    def slopes(variables):
        return mechanism.apply(variables, x, x, x, nobody, deterministic=True).sum()

    leaves = jax.tree.leaves(slopes(jitted.drawn(mechanism, x, x, x, deterministic=True)))
    assert len(leaves) == 9
    assert all((np.asarray(leaf) == 0).all() for leaf in leaves)


PRESENT = np.arange(S)[None] < np.array([S, 2, 0])[:, None]
EVERYWHERE = np.ones((B, S, 1), bool)
MASKS = {
    "padding": Padding(PRESENT) & Causal(),
    "array": PRESENT[:, None] & EVERYWHERE,
}
OTHERS = [
    Attention(implementation="blockwise"),
    MultiHead(heads=4, key_heads=2),
    LastState(readers="both"),
    SelfAttentive(hops=2, width=3),
    LinearAttention(),
    LinearAttention(feature_map=PositiveRandomFeatures(features=3)),
]


@pytest.mark.parametrize(
    "mechanism",
    [
        *(
            pytest.param(one, marks=[pytest.mark.long] if one not in (QUICK, ALIGNED[-2]) else [])
            for one in MECHANISMS
        ),
        *OTHERS,
    ],
    ids=lambda one: name(one) if one in MECHANISMS else type(one).__name__,
)
def test_no_number_behind_a_mask_moves_nothing(mechanism):
    """0 times NaN is NaN: what padding holds reaches no context and no gradient, not one bit."""
    draw = np.random.default_rng(0).normal
    query, x = draw(size=(2, B, S, 8)).astype(np.float32)
    clean, *broken = (
        np.where(PRESENT[..., None], x, np.float32(held)) for held in (0, np.nan, np.inf)
    )
    masks = [MASKS["padding"]]
    if not isinstance(mechanism, LinearAttention):
        masks.append(MASKS["array"])
    variables = jitted.drawn(mechanism, query, x, deterministic=True)

    def total(variables, query, x):
        memory = mechanism.apply(variables, x, x, method="prepare")
        contexts = [
            *(mechanism.apply(variables, query, x, x, m, deterministic=True) for m in masks),
            # a decoder prepares the keys once, without their mask
            *(
                mechanism.apply(variables, query, memory, m, deterministic=True, method="attend")
                for m in masks
            ),
        ]
        return sum((context**2).sum() for context in contexts[: len(masks)]), contexts

    read = jax.jit(jax.grad(total, (0, 1, 2), has_aux=True))
    expected = read(variables, query, clean)
    for filler in broken:
        found = jax.device_get(read(variables, query, filler))
        jax.tree.map(np.testing.assert_array_equal, found, expected)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))


@pytest.mark.parametrize("implementation", ["auto", "blockwise"])
def test_no_number_behind_a_mask_of_fused(implementation):
    draw = np.random.default_rng(0).normal
    query, x = draw(size=(2, B, 2, S, 8)).astype(np.float32)
    clean, broken = (
        np.where(PRESENT[:, None, :, None], x, np.float32(held)) for held in (0, np.nan)
    )
    attend = jax.jit(partial(fused, implementation=implementation, layout="BNTH"))
    for mask in (Padding(PRESENT[:, None]), PRESENT[:, None, None] & EVERYWHERE[:, None]):
        found, expected = (attend(query, x, x, mask) for x in (broken, clean))
        np.testing.assert_array_equal(found, expected)


class Angle(Score):
    """10 cos(query, key), as in the README: 0 has no direction."""

    def __call__(self, query, key, positions):
        length = jnp.linalg.norm(query, axis=-1, keepdims=True)
        return 10 * dot(query / length, key / jnp.linalg.norm(key, axis=-1, keepdims=True))


class EveryAngle(Angle):
    """The same in every head."""

    def same_in_every_head(self) -> bool:
        return True


class Logarithm(Score):
    """query . log |key|."""

    def __call__(self, query, key, positions):
        return dot(query, jnp.log(jnp.abs(key)))


class Standardized(Score):
    """query . (key - mean) / deviation: equal entries have none."""

    def __call__(self, query, key, positions):
        change = key - key.mean(-1, keepdims=True)
        return dot(query, change / key.std(-1, keepdims=True))


OWN = {
    **{f"{kind.__name__} alone": Attention(score=kind()) for kind in (Angle, Logarithm)},
    "in heads": MultiHead(head=Attention(score=Angle()), heads=2),
    "standardized": MultiHead(head=Attention(score=Standardized()), heads=2),
    "selective": SelectiveHeads(head=Attention(score=EveryAngle()), heads=2),
}


@pytest.mark.parametrize("attention", OWN.values(), ids=OWN)
def test_a_score_that_0_has_no_gradient_of_is_that_of_the_words_that_are_there(attention):
    """Padding is 0 here, where the score has no gradient; every gradient is that of the rest."""
    kept = 3
    x = np.random.default_rng(0).normal(size=(2, S, 8)).astype(np.float32)
    x[1, kept:] = 0
    if isinstance(attention, SelectiveHeads):
        x[1, kept:] = 2  # its queries of padding are computed, too
    present = np.arange(S)[None] < np.array([S, kept])[:, None]
    params = jitted.drawn(attention, x, deterministic=True)

    def loss(params, x, mask):
        words = jnp.asarray(x)
        query = words[..., :kept, :]  # all of them are there in both sentences
        context = attention.apply(params, query, words, words, mask, deterministic=True)
        return (context**2).sum((-2, -1))

    def slopes(x, mask):
        return jax.grad(lambda params, x: loss(params, x, mask).sum(), (0, 1))(params, x)

    padded, whole = (
        jax.jit(slopes)(x, Padding(present) & Causal()),
        jax.jit(slopes)(x[1:, :kept], Causal()),
    )
    by_first, _ = jax.jit(slopes)(x[:1], Causal())
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(padded))
    np.testing.assert_allclose(padded[1][1, :kept], whole[1][0], rtol=1e-4, atol=1e-5)
    assert (padded[1][1, kept:] == 0).all()
    for found, one, other in zip(
        *map(jax.tree.leaves, (padded[0], by_first, whole[0])), strict=True
    ):
        np.testing.assert_allclose(found, one + other, rtol=1e-3, atol=1e-4)


def test_a_key_that_examples_share_is_kept_if_one_may_attend_to_it():
    key = np.ones((1, 3, 2))
    mask = Padding(np.array([[True, False, False], [False, True, False]]))
    shared, plain = jax.device_get(jax.jit(lambda: [zero_hidden(mask, x) for x in (key, key[0])])())
    np.testing.assert_array_equal(shared[0, :, 0], [1, 1, 0])
    np.testing.assert_array_equal(plain[:, 0], [1, 1, 0])
    assert zero_hidden(Causal(), key) is key
    filled = jax.device_get(jax.jit(lambda: fill_hidden(mask, 7 * key[0]))())
    np.testing.assert_array_equal(filled, [[7, 7], [7, 7], [1, 1.5]])
