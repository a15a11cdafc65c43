"""What every align does with logits and a mask; the local and sparse ones have files too."""

from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import Partial

from attnjax.attention.align.base import (
    AlignContext,
    LearnedScale,
    Normalize,
    Softmax,
    Uniform,
    normalize,
    softmax,
    uniform,
)
from attnjax.attention.align.local import LocalMonotonic, LocalPredictive
from attnjax.attention.align.one_hot import HardMax
from attnjax.attention.align.open import OffByOne, ReLU, Sigmoid, Sink, Softpick, StickBreaking
from attnjax.attention.align.sparse import Entmax15, Sparsemax, TopK, entmax15, sparsemax, top_k
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, Padding
from attnjax.attention.position import Positions, distance
from attnjax.attention.score.base import General, ScaledDot, scaled_dot
from attnjax.attention.score.kernel import SquaredExponential
from attnjax.nn.platform import compiled_for
from tests import jitted
from tests.attention import oracle

ALIGNS = (
    Softmax(),
    Softmax(temperature=0.5),
    LearnedScale(),
    Normalize(),
    Uniform(),
    LocalMonotonic(reach=1),
    LocalPredictive(reach=3),
    Sparsemax(),
    Entmax15(),
    TopK(k=2),
    HardMax(),
    OffByOne(),
    Sink(),
    Sigmoid(),
    ReLU(),
    Softpick(),
    StickBreaking(),
)


def nadaraya_watson(kernel, mask):
    """K / sum K over the allowed keys; zero where that sum is."""
    weights = np.zeros_like(kernel)
    for t, row in enumerate(kernel):
        total = sum(value for value, allowed in zip(row, mask[t], strict=True) if allowed)
        for s, value in enumerate(row):
            if mask[t, s] and total != 0:
                weights[t, s] = value / total
    return weights


def test_softmax_keeps_rounded_weights_for_its_gradient():
    """The weights are those of `softmax`, bit for bit; the gradient is as near as bfloat16 is."""
    random = np.random.default_rng(3)
    logits, pulled = random.normal(size=(2, 3, 4, 64)).astype(np.float32)
    allowed = random.random(logits.shape) < 0.7
    allowed[0, 0] = False

    @partial(jax.jit, static_argnums=0)
    def read(kept):
        return jax.vjp(partial(softmax, mask=allowed, kept=kept), logits)

    pull_back = jax.jit(lambda pull: pull(pulled)[0])
    (weights, pull), (found, pull_kept), (_, wider) = map(read, (None, jnp.bfloat16, jnp.float32))
    np.testing.assert_array_equal(found, weights)
    expected, gradient = jax.device_get([pull_back(pull), pull_back(pull_kept)])
    np.testing.assert_allclose(gradient, expected, atol=abs(expected).max() / 128)
    np.testing.assert_array_equal(gradient[~allowed], 0)
    waiting = [leaf for leaf in jax.tree.leaves(pull_kept) if leaf.shape == logits.shape]
    assert [leaf.dtype for leaf in waiting] == [jnp.bfloat16]
    np.testing.assert_array_equal(expected, pull_back(wider))


@pytest.mark.parametrize("length", [6, 256])
@pytest.mark.parametrize("align", [Softmax(), Softmax(temperature=0.5), LearnedScale()])
def test_no_wide_weights_of_narrow_queries_wait_for_their_gradient(align, length):
    """A TPU computes the weights of 256 words in `attnjax.attention.fused.dispatch`."""
    query, memory = jnp.asarray(np.ones((2, 1, length, 8)), jnp.bfloat16)
    module = Attention(score=ScaledDot(), align=align)

    def call(variables, query):
        return module.apply(variables, query, memory, memory, deterministic=True)

    variables = jitted.drawn(module, query, memory, memory, deterministic=True)
    with compiled_for("tpu"):
        _, pull = jax.eval_shape(lambda *given: jax.vjp(*given), Partial(call, variables), query)
    waiting = [leaf.dtype for leaf in jax.tree.leaves(pull) if leaf.shape[-2:] == (length, length)]
    assert jnp.bfloat16 in waiting
    assert jnp.float32 not in waiting


def test_softmax_equals_the_oracle_also_forwards(float64):
    random = np.random.default_rng(0)
    logits, moved = random.normal(size=(2, 4, 5))
    allowed = random.random((4, 5)) < 0.6
    allowed[2] = False
    read = jax.jit(lambda *given: jax.jvp(lambda x: softmax(x, allowed), *given))
    weights, slope = read((logits,), (moved,))
    np.testing.assert_allclose(weights, oracle.softmax(logits, allowed), rtol=0, atol=1e-15)
    stepped = oracle.softmax(logits + 1e-30j * moved, allowed).imag / 1e-30
    np.testing.assert_allclose(slope, stepped, rtol=0, atol=1e-15)


def test_softmax_does_not_see_a_shift():
    logits, align = np.random.default_rng(0).integers(-8, 8, (3, 4)) * 1.0, jax.jit(softmax)
    np.testing.assert_array_equal(align(logits), align(logits + 1024))
    np.testing.assert_array_equal(align(logits), align(logits, np.ones((3, 4), bool)))


@pytest.mark.parametrize(
    "align",
    [softmax, normalize, uniform, sparsemax, entmax15, partial(top_k, k=2)],
    ids=["softmax", "normalize", "uniform", "sparsemax", "entmax15", "top_k"],
)
def test_masked_logits_may_be_anything(align):
    allowed = np.array([[True, False, True, False, False]])
    odd = np.array([[1.0, np.inf, 2.0, np.nan, -np.inf]])
    tame = np.where(allowed, odd, 0)
    read = jax.jit(jax.value_and_grad(lambda logits: align(logits, allowed)[0, 0]))
    for found, expected in zip(read(odd), read(tame), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_normalize_equals_the_oracle_with_gradients(float64):
    random = np.random.default_rng(0)
    kernel, direction = random.random((5, 6)), random.normal(size=(5, 6))
    allowed = random.random((5, 6)) < 0.6
    # Nothing is allowed; nothing is in reach; what is in reach is hidden; one key alone is left.
    allowed[0], kernel[1], allowed[4] = False, 0, np.arange(6) == 2
    kernel[2, allowed[2]] = 0

    def read(kernel):
        weights = normalize(kernel, allowed)
        return (weights * direction).sum(), weights

    (_, weights), slope = jax.device_get(jax.jit(jax.value_and_grad(read, has_aux=True))(kernel))
    np.testing.assert_allclose(weights, nadaraya_watson(kernel, allowed), rtol=0, atol=1e-15)
    np.testing.assert_allclose(weights.sum(-1), [0, 0, 0, 1, 1], rtol=0, atol=1e-15)
    assert (slope[:3] == 0).all()
    expected = oracle.gradient(
        lambda rows: (nadaraya_watson(rows, allowed[3:]) * direction[3:]).sum(), kernel[3:]
    )
    np.testing.assert_allclose(slope[3:], expected, rtol=0, atol=1e-13)


def test_normalized_exponentials_are_the_softmax_also_where_they_are_tiny():
    logits, direction = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)

    @jax.jit
    def both(logits):
        aligns = (lambda x: normalize(jnp.exp(x)), softmax)
        return [
            jax.value_and_grad(lambda x, align=align: (align(x) * direction).sum())(logits)
            for align in aligns
        ]

    for shift in (0.0, -40.0, -80.0):
        chex.assert_trees_all_close(*both(logits + np.float32(shift)), rtol=0, atol=2e-5)


def test_a_kernel_that_is_no_number_is_seen():
    assert np.isnan(jax.jit(normalize)(np.array([[1.0, np.nan]]))).all()


def test_uniform_is_the_mean_of_what_is_allowed(float64):
    random = np.random.default_rng(0)
    allowed = random.random((3, 5)) < 0.6
    allowed[1], allowed[2, 0] = False, True
    logits, value = random.normal(size=(3, 5)), random.normal(size=5)

    @jax.jit
    def read(logits, value):
        def total(logits, value):
            weights = uniform(logits, allowed)
            return (weights @ value).sum(), weights

        return jax.grad(total, (0, 1), has_aux=True)(logits, value)

    (by_logits, by_value), weights = jax.device_get(read(logits, value))
    for row, keys in zip(weights, allowed, strict=True):
        expected = value[keys].mean() if keys.any() else 0.0
        np.testing.assert_allclose(row @ value, expected, rtol=0, atol=1e-15)
        assert (row[~keys] == 0).all()
    assert (by_logits == 0).all()
    shares = sum(keys / max(keys.sum(), 1) for keys in allowed)
    np.testing.assert_allclose(by_value, shares, rtol=0, atol=1e-15)


def test_the_temperature_leads_from_one_key_to_all():
    logits, allowed = np.array([[1.0, 3.0, 2.0, 5.0]]), np.array([[True, True, True, False]])

    def weights(align):
        return jitted.apply(align, {}, logits, allowed, AlignContext(logits, Positions()))

    for degrees, limit in ((1e-3, HardMax()), (1.0, Softmax()), (1e6, Uniform())):
        found = weights(Softmax(temperature=degrees))
        np.testing.assert_allclose(found, weights(limit), rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        weights(Softmax(temperature=2.0)), oracle.softmax(logits / 2, allowed), rtol=1e-6
    )


def test_a_learned_scale_begins_at_one_in_each_head():
    x = np.random.default_rng(0).normal(size=(1, 4, 6))
    module = MultiHead(head=Attention(align=LearnedScale()), heads=3)
    parameters = jitted.init(module, jax.random.key(0), x, deterministic=True)["params"]
    scales = parameters["head"]["align"]["log_scale"]
    np.testing.assert_array_equal(scales, np.zeros(3))
    others = {name: value for name, value in parameters.items() if name != "head"}

    def read(scales, align):
        own = {"head": {"align": {"log_scale": scales}}} if scales is not None else {}
        module = MultiHead(head=Attention(align=align), heads=3)
        return jitted.apply(module, {"params": {**others, **own}}, x, deterministic=True)

    np.testing.assert_allclose(read(scales, LearnedScale()), read(None, Softmax()), atol=1e-6)
    doubled = read(np.full(3, np.log(2.0)), LearnedScale())
    np.testing.assert_allclose(doubled, read(None, Softmax(temperature=0.5)), atol=1e-6)


class BiasedDot(ScaledDot):
    """A scaled dot product with a bias of positions."""

    def __call__(self, query, key, positions):
        return scaled_dot(query, key) - 0.3 * abs(distance(positions)) * query[..., :1]

    def is_fusible(self):
        return True

    def as_dot_product(self, query, key, positions):
        product = super().as_dot_product(query, key, positions)
        return product.plus(Partial(tilt, jnp.full(query.shape[:-2], 1 / product.scale)))


def tilt(unscale, query, positions):
    unscaled = query[..., :1] * unscale[..., None, None]
    return -0.3 * abs(distance(positions)) * unscaled


@pytest.mark.parametrize(
    "align, score",
    [
        pytest.param(Softmax(temperature=0.25), ScaledDot(), id="temperature"),
        pytest.param(LearnedScale(), BiasedDot(), id="learned, bias"),
        pytest.param(
            Softmax(temperature=0.25), BiasedDot(), id="temperature, bias", marks=pytest.mark.long
        ),
        pytest.param(LearnedScale(), ScaledDot(), id="learned", marks=pytest.mark.long),
    ],
)
def test_a_fused_kernel_takes_the_factor(align, score, float64):
    """With gradients, of the learned scale too, and of each head alone."""
    draw = np.random.default_rng(0).normal
    x, direction = draw(size=(2, 1, 7, 8))
    found = []
    for implementation in ("dense", "blockwise"):
        head = Attention(score=score, align=align, implementation=implementation)
        module = MultiHead(head=head, heads=2)
        start = jax.eval_shape(lambda m=module: m.init(jax.random.key(0), x, deterministic=True))
        drawn = np.random.default_rng(1).normal
        parameters = jax.tree.map(lambda leaf, d=drawn: d(size=leaf.shape), start)

        def read(parameters, x, module=module):
            context = module.apply(parameters, x, mask=Causal(), deterministic=True)
            return (context * direction).sum()

        found.append(jax.jit(jax.value_and_grad(read, (0, 1)))({"params": parameters["params"]}, x))
    chex.assert_trees_all_close(*found, rtol=0, atol=1e-12)
    assert all(np.asarray(leaf).any() for leaf in jax.tree.leaves(found[0]))


@pytest.mark.parametrize("align", ALIGNS, ids=str)
def test_a_mask_is_a_subset(align):
    """Hidden keys might as well not be there: in the middle, or added as padding at the end."""
    draw = np.random.default_rng(0).normal
    query, key, value, direction = (np.float32(draw(size=(1, n, 3))) for n in (3, 6, 6, 3))
    score = SquaredExponential() if isinstance(align, Normalize) else General()
    attention = Attention(score=score, align=align)
    drawn = jitted.drawn(attention, query, key, value, deterministic=True)
    parameters = drawn.get("params", {})

    def read(parameters, inputs, mask, position):
        context, seen = attention.apply(
            {"params": parameters},
            *inputs,
            mask,
            positions=Positions(key=position),
            deterministic=True,
            mutable=["attention"],
        )
        return (context * direction).sum(), (context, seen["attention"]["weights"][0])

    read = jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))
    places = np.arange(6)[None]
    for kept in ([0, 1, 3, 5], [0, 1, 2, 3]):
        mask = Padding(np.isin(places, kept))
        (_, (context, weights)), (slopes, by_input) = read(
            parameters, (query, key, value), mask, places
        )
        few = (query, key[:, kept], value[:, kept])
        (_, expected), expected_slopes = read(parameters, few, None, places[:, kept])
        assert (np.delete(weights, kept, axis=-1) == 0).all()
        for hidden in by_input[1:]:
            assert (np.delete(hidden, kept, axis=1) == 0).all()
        by_query, by_key, by_value = by_input
        found = slopes, (by_query, by_key[:, kept], by_value[:, kept])
        chex.assert_trees_all_close(
            ((context, weights[..., kept]), found), (expected, expected_slopes), rtol=0, atol=1e-6
        )
