"""Rotary, ALiBi and relative positions: the papers' equations, what they depend on, every path."""

from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn
from hypothesis import given, strategies as st

from attnjax.attention.align.base import Softmax
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, DenseMask, Padding, Segments, Window
from attnjax.attention.position import Positions
from attnjax.attention.score.base import Additive, Dot, DotProduct, Location, ScaledDot, Score
from attnjax.attention.score.kernel import Boxcar, Gaussian
from attnjax.attention.score.positional import (
    Alibi,
    Relative,
    Rotary,
    alibi_slopes,
    relative,
    rotary,
)
from attnjax.errors import UserError
from attnjax.nn.norm import RMSNorm
from tests import jitted
from tests.attention import oracle

B, T, S, K, H = 2, 5, 6, 4, 2
SCHEMES = {
    "rotary": Rotary(base=10.0),
    "alibi": Alibi(),
    "relative": Relative(max_distance=2),
    "alibi and rotary": Alibi(score=Rotary(score=Dot())),
    "alibi and relative": Alibi(score=Relative(score=Dot(), max_distance=3)),
}


def arrays(dtype=np.float64):
    """Query, key, value; a mask with an empty row; a direction to read."""
    draw = np.random.default_rng(0).normal
    allowed = np.random.default_rng(1).random((B, T, S)) < 0.7
    allowed[0, 1] = False
    shapes = (T, K), (S, K), (S, K), (T, K)
    *inputs, direction = (draw(size=(B, *shape)).astype(dtype) for shape in shapes)
    return inputs, allowed, direction


def turned(x, base):
    """Su et al. 2021, eq. 14 and 15: the matrix R of each position, times its vector."""
    rows = []
    for position, row in enumerate(x):
        matrix = np.zeros((K, K))
        for i in range(K // 2):
            angle = position * base ** (-2 * i / K)
            sin, cos = np.sin(angle), np.cos(angle)
            matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cos, -sin], [sin, cos]]
        rows.append(matrix @ row)
    return np.array(rows)


def rotary_logits(own, query, key):
    return oracle.scaled_dot(turned(query, 10.0), turned(key, 10.0))


def alibi_logits(own, query, key):
    """Press et al. 2022, section 3, for the last of 1 head: the slope 2^-8."""
    away = np.array([[abs(t - s) for s in range(len(key))] for t in range(len(query))])
    return oracle.scaled_dot(query, key) - away / 256


def relative_logits(own, query, key):
    """Shaw et al. 2018, eq. 4: every pair has a key of its own."""
    vectors = own["by_distance"]
    return np.array(
        [
            [q @ (k + vectors[min(max(s - t, -2), 2) + 2]) / K**0.5 for s, k in enumerate(key)]
            for t, q in enumerate(query)
        ]
    )


@pytest.mark.parametrize(
    "score, logits_of_one",
    [
        (SCHEMES["rotary"], rotary_logits),
        (SCHEMES["alibi"], alibi_logits),
        (SCHEMES["relative"], relative_logits),
    ],
    ids=["rotary", "alibi", "relative"],
)
def test_equals_the_paper_with_gradients(score, logits_of_one, float64):
    inputs, allowed, direction = arrays()
    own = {}
    if isinstance(score, Relative):
        own = {"by_distance": np.random.default_rng(2).normal(size=(5, K))}

    def context(tree):
        rows = zip(*tree[1], allowed, strict=True)
        return np.array(
            [oracle.pool(oracle.softmax(logits_of_one(tree[0], q, k), a), v) for q, k, v, a in rows]
        )

    def read(own, inputs):
        variables = {"params": {"score": own} if own else {}}
        mask = DenseMask(allowed)
        found = Attention(score=score).apply(variables, *inputs, mask, deterministic=True)
        return (found * direction).sum(), found

    tree = own, list(inputs)
    slopes = oracle.gradient(lambda tree: (context(tree) * direction).sum(), tree)
    (_, value), found = jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))(own, inputs)
    np.testing.assert_allclose(value, context(tree), rtol=0, atol=1e-12)
    chex.assert_trees_all_close(found, slopes, rtol=0, atol=1e-12)


@pytest.mark.parametrize("score", SCHEMES.values(), ids=SCHEMES.keys())
@given(shift=st.integers(-50, 10_000))
def test_logits_depend_on_the_distance_only(score, shift):
    """And on the distance they do depend, so that an attention sees the order of words."""
    with jax.enable_x64(True):
        (query, key, _), _, _ = arrays()
        here = Positions(np.arange(T)[None], np.arange(S)[None])
        there = Positions(*(x + shift for x in here))
        moved = Positions(here.query + 1, here.key)
        variables = jitted.drawn(score, query, key, here)
        logits, shifted, other = (
            jitted.apply(score, variables, query, key, at) for at in (here, there, moved)
        )
        np.testing.assert_allclose(shifted, logits, rtol=0, atol=1e-9)
        assert not np.allclose(other, logits, atol=1e-3)


@given(st.lists(st.integers(0, 100_000), min_size=3, max_size=3))
def test_turning_keeps_norms(places):
    x, turn = np.float32(np.random.default_rng(0).normal(size=(2, 3, 6))), jax.jit(rotary)
    found = turn(x, np.array([places]))
    np.testing.assert_allclose(
        np.linalg.norm(found, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-5
    )
    assert turn(x.astype(jnp.bfloat16), np.array([places])).dtype == jnp.bfloat16


def test_position_0_is_not_turned():
    x = np.float32(np.random.default_rng(0).normal(size=(1, 1, 6)))
    np.testing.assert_array_equal(jax.jit(rotary)(x, np.zeros((1, 1), int)), x)


def test_the_slopes_are_the_papers():
    np.testing.assert_array_equal(alibi_slopes(8), [2.0**-h for h in range(1, 9)])
    np.testing.assert_allclose(alibi_slopes(16), [2.0 ** (-h / 2) for h in range(1, 17)])
    # The authors' get_slopes(6) and get_slopes(3).
    np.testing.assert_allclose(alibi_slopes(6), [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8])
    np.testing.assert_allclose(alibi_slopes(3), [1 / 16, 1 / 256, 1 / 4])
    np.testing.assert_allclose(alibi_slopes(1), [1 / 256])


@pytest.mark.parametrize("heads", [2, pytest.param(3, marks=pytest.mark.long)])
def test_every_head_has_its_slope(heads):
    x = np.random.default_rng(0).normal(size=(B, T, 6))
    modules = [
        MultiHead(head=Attention(score=score), heads=heads) for score in (Alibi(), ScaledDot())
    ]
    variables = jitted.drawn(modules[0], x, deterministic=True)
    sown = [
        jitted.apply(m, variables, x, deterministic=True, mutable=["attention"])[1] for m in modules
    ]
    biased, plain = (seen["attention"]["head"]["logits"][0] for seen in sown)
    away = abs(np.arange(T)[:, None] - np.arange(T))
    for head, slope in enumerate(alibi_slopes(heads)):
        for example in range(B):
            found = biased[example, head] - plain[example, head]
            np.testing.assert_allclose(found, -slope * away, atol=1e-6)


def test_relative_vectors_are_each_heads_own():
    x = np.zeros((1, T, 8))
    module = MultiHead(head=Attention(score=Relative(max_distance=3)), heads=H)
    params = jitted.init(module, jax.random.key(0), x, deterministic=True)["params"]
    first, second = params["head"]["score"]["by_distance"]
    assert first.shape == (7, 4)
    assert not np.allclose(first, second)


ROWS = np.array([[0] * 5 + [1] * 6 + [2] * 3, [0] * 11 + [1] * 3])
PLACES = np.array([[*range(5), *range(6), *range(3)], [*range(11), *range(3)]])
PRESENT = np.array([[True] * 14, [True] * 9 + [False] * 5])
MASKS = {
    "all": (None, Positions()),
    "causal window": (Causal() & Window(3, 0), Positions()),
    "padding": (Padding(PRESENT), Positions()),
    "packed": (Causal() & Segments(ROWS, ROWS) & Padding(PRESENT), Positions(PLACES, PLACES)),
}


@pytest.mark.parametrize(
    "score",
    [
        # a score around another has both in it
        pytest.param(score, id=name, marks=[] if " and " in name else pytest.mark.long)
        for name, score in SCHEMES.items()
    ],
)
def test_the_fused_kernel_equals_the_dense_path_with_gradients(score, float64, monkeypatch):
    monkeypatch.setattr("attnjax.attention.fused.blockwise._side", lambda length: 4)
    draw = np.random.default_rng(0).normal
    x, direction = draw(size=(2, 2, 14, 8))
    modules = {
        name: MultiHead(head=Attention(score=score, implementation=name), heads=H)
        for name in ("dense", "blockwise")
    }
    params = jitted.drawn(modules["dense"], x, deterministic=True)["params"]

    def read(params, x, module):
        found = [
            module.apply({"params": params}, x, x, x, mask, positions=at, deterministic=True)
            for mask, at in MASKS.values()
        ]
        return sum((one * direction).sum() for one in found), found

    found, expected = (
        jax.jit(jax.value_and_grad(lambda *given, m=module: read(*given, m), (0, 1), has_aux=True))(
            params, x
        )
        for module in (modules["blockwise"], modules["dense"])
    )
    chex.assert_trees_all_close(found, expected, rtol=0, atol=1e-12)


@given(st.permutations(range(T)))
def test_without_positions_order_is_not_seen(order):
    """Permuting keys and values changes nothing; permuting queries permutes the answer."""
    (query, key, value), _, _ = arrays(np.float32)
    key, value, order = key[:, :T], value[:, :T], np.array(order)
    read = partial(jitted.apply, Attention(), {}, deterministic=True)
    context = read(query, key, value)
    np.testing.assert_allclose(read(query, key[:, order], value[:, order]), context, atol=1e-6)
    np.testing.assert_allclose(read(query[:, order], key, value), context[:, order], atol=1e-6)


class OwnProduct(Score):
    """A user's dot product, with a parameter."""

    def setup(self):
        self.sharpness = self.param("sharpness", jax.nn.initializers.constant(3.0), ())

    def __call__(self, query, key, positions):
        return self.sharpness * jnp.einsum("...tk,...sk->...ts", query, key)

    def is_fusible(self):
        return True

    def as_dot_product(self, query, key, positions):
        return DotProduct(self.sharpness * query, key, 1.0)


def test_a_dot_product_with_parameters_may_stand_within():
    x = np.random.default_rng(0).normal(size=(1, 6, 8))
    for around in (Rotary, Relative, Alibi):
        score = around(score=OwnProduct())
        dense, fused = (
            MultiHead(head=Attention(score=score, implementation=name), heads=H)
            for name in ("dense", "blockwise")
        )
        variables = jitted.drawn(dense, x, deterministic=True)
        assert variables["params"]["head"]["score"]["score"]["sharpness"].shape == (H,)
        found, expected = (
            jitted.apply(module, variables, x, deterministic=True) for module in (fused, dense)
        )
        np.testing.assert_allclose(found, expected, atol=1e-5)


class NormedProduct(Score, fusible=True):
    """Queries and keys are normalized, with learned gains, before their product."""

    @nn.compact
    def prepare(self, key):
        return RMSNorm(name="key_norm")(key)

    @nn.compact
    def as_dot_product(self, query, key, positions):
        return DotProduct(RMSNorm(name="query_norm")(query), key, 0.5)

    def __call__(self, query, key, positions):
        return self.as_dot_product(query, key, positions).logits(positions)


@pytest.mark.parametrize("implementation", ["dense", "blockwise"])
def test_rotary_turns_after_the_norms_of_the_score_within(implementation):
    (query, key, value), _, _ = arrays(np.float32)
    head = Attention(score=Rotary(score=NormedProduct(), base=10.0), implementation=implementation)
    draw = np.random.default_rng(3).uniform(0.5, 2, (2, K)).astype(np.float32)
    gains = {"query_norm": {"scale": draw[0]}, "key_norm": {"scale": draw[1]}}
    variables = {"params": {"score": {"score": gains}}}
    read = partial(jitted.apply, head, variables, query, key, value, deterministic=True)
    found = read()

    def normed(x, gain):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * gain

    for q, k, v, context in zip(query, key, value, found, strict=True):
        logits = 0.5 * turned(normed(q, draw[0]), 10.0) @ turned(normed(k, draw[1]), 10.0).T
        weights = oracle.softmax(logits, np.ones(logits.shape, bool))
        np.testing.assert_allclose(context, weights @ v, atol=1e-5)
    moved = read(positions=Positions(100 + np.arange(T)[None], 100 + np.arange(S)[None]))
    np.testing.assert_allclose(moved, found, atol=1e-4)


@pytest.mark.parametrize(
    "score, message",
    [
        (Rotary(score=Location()), "Rotary wants .* such as Dot or ScaledDot; got Location"),
        (Rotary(score=Additive()), "Rotary wants a score that is a dot product.* got Additive"),
        (Rotary(score=Relative()), "got Relative around ScaledDot"),
        (Relative(score=Rotary()), "Relative wants .* got Rotary around ScaledDot"),
        (Relative(score=Alibi(score=Dot())), "got Alibi around Dot"),
        (Relative(score=Gaussian()), "got Gaussian"),
        (Alibi(score=Boxcar()), "Alibi adds to logits.* got Boxcar"),
    ],
    ids=lambda part: part.in_words() if isinstance(part, Score) else "",
)
def test_a_score_that_does_not_fit_is_refused_by_name(score, message):
    inputs, _, _ = arrays(np.float32)
    with pytest.raises(UserError, match=message):
        jitted.init(Attention(score=score), jax.random.key(0), *inputs, deterministic=True)


def test_an_odd_width_is_not_turned():
    x = np.zeros((1, 2, 3))
    with pytest.raises(UserError, match="an even width of queries and keys; got 3"):
        jitted.apply(Attention(score=Rotary()), {}, x, x, x, deterministic=True)


def test_alibi_stands_around_any_logits():
    inputs, _, _ = arrays(np.float32)
    module = Attention(score=Alibi(score=Additive()), align=Softmax())
    context, variables = jitted.init_with_output(
        module, jax.random.key(0), *inputs, deterministic=True
    )
    assert np.isfinite(context).all()
    assert set(variables["params"]["score"]["score"]) == {"query", "key", "v"}
    assert "for the score Alibi around Additive" in module.describe()
    assert Attention(score=Alibi()).describe().startswith("auto")


def test_kernels_of_one_platform_turn_but_add_no_bias():
    x = jnp.asarray(np.zeros((1, 16, 8)), jnp.bfloat16)

    def train(score):
        attention = Attention(score=score, implementation="cudnn")
        jitted.apply(attention, {}, x, x, x, Causal(), deterministic=False)

    with pytest.raises(UserError, match="cudnn cannot compute a bias"):
        train(Alibi())
    with pytest.raises(UserError, match="cudnn needs the platform cuda"):
        train(Rotary())


def test_a_far_distance_is_the_farthest():
    query = np.float32(np.random.default_rng(0).normal(size=(1, 1, K)))
    vectors = np.float32(np.random.default_rng(1).normal(size=(1, 5, K)))
    at = Positions(np.array([[10]]), np.array([[0, 8, 9, 10, 11, 12, 99]]))
    found = jax.jit(relative)(query, vectors, at)
    each = vectors[0] @ query[0, 0]
    np.testing.assert_allclose(found, each[[[[0, 0, 1, 2, 3, 4, 4]]]], rtol=1e-5)


@pytest.mark.parametrize("factor", [0.5, np.array(0.5)], ids=["a number", "an array"])
def test_a_factor_multiplies_a_dot_product_and_its_bias_once(factor, float64):
    """The bias is linear in the query, as that of relative vectors is."""
    random = np.random.default_rng(5)
    query, key, weight = (
        jnp.asarray(random.normal(size=size)) for size in ((2, 3, 4), (2, 5, 4), (4, 5))
    )
    bias = jax.tree_util.Partial(lambda weight, query, positions: query @ weight, weight)
    product = DotProduct(query, key, 0.25, bias)
    given = factor if isinstance(factor, float) else jnp.asarray(factor)
    np.testing.assert_allclose(
        product.times(given).logits(Positions()), 0.5 * product.logits(Positions()), rtol=1e-12
    )
