"""Several heads against the oracle, Flax and JAX: values, and gradients of all that has one."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import DenseMask
from attnjax.attention.score.base import Additive, Dot, General, ScaledDot, Score, dot
from attnjax.attention.score.positional import Rotary
from attnjax.nn.norm import RMSNorm
from tests import jitted
from tests.attention import oracle

# Flax warns of S = D: it takes the values for a mask.
B, T, S, D, H = 2, 2, 3, 4, 2


def arrays(dtype=jnp.float32, *, empty_row: bool = False):
    """Query, key, value; a mask; a direction to read."""
    draw = np.random.default_rng(1).normal
    allowed = np.random.default_rng(2).random((B, T, S)) < 0.6
    allowed[..., 0] = True
    allowed[0, 1] = not empty_row
    query, key, value, direction = (
        draw(size=(B, length, D)).astype(dtype) for length in (T, S, S, T)
    )
    return (query, key, value), allowed, direction


def parameters_of(module, inputs):
    """Random parameters, as `inputs` have their dtype."""
    initial = jitted.drawn(module, *inputs, deterministic=True)["params"]
    return jax.tree.map(lambda p: p.astype(inputs[0].dtype), initial)


def with_gradients(module, direction, **mask):
    """(parameters, inputs) -> the context, and what its product with the direction moves by."""

    def read(parameters, inputs):
        context = module.apply({"params": parameters}, *inputs, **mask, deterministic=True)
        return (context * direction).sum(), context

    return jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))


@pytest.mark.parametrize(
    "module",
    [
        MultiHead(head=Attention(score=ScaledDot()), heads=H, key_width=3, value_width=1),
        pytest.param(MultiHead(head=Attention(score=General()), heads=H), marks=pytest.mark.long),
        MultiHead(head=Attention(score=Additive(width=4)), heads=H),
    ],
    ids=lambda module: type(module.head.score).__name__,
)
def test_equals_the_oracle_with_gradients(module, float64):
    inputs, allowed, direction = arrays(jnp.float64, empty_row=True)
    initial = parameters_of(module, inputs)
    name = type(module.head.score).__name__

    def context(tree):
        own, given = tree
        return np.array(
            [oracle.multi_head(name, own, *row) for row in zip(*given, allowed, strict=True)]
        )

    tree = initial, inputs
    expected = context(tree)
    slopes = oracle.gradient(lambda tree: (context(tree) * direction).sum(), tree)
    (_, value), found = with_gradients(module, direction, mask=DenseMask(allowed))(initial, inputs)
    chex.assert_trees_all_close(value, expected, rtol=0, atol=1e-12)
    chex.assert_trees_all_close(found, slopes, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "dtype, tolerance, bias",
    [
        (np.float64, 1e-12, True),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                (np.float64, 1e-12, False),
                (np.float32, 2e-6, True),
                (np.float32, 2e-6, False),
            )
        ),
    ],
)
def test_equals_flax_on_the_same_parameters(dtype, tolerance, bias, float64):
    inputs, allowed, direction = arrays(dtype)
    module = MultiHead(heads=H, bias=bias)
    flax = nn.MultiHeadDotProductAttention(num_heads=H, use_bias=bias)
    draw = np.random.default_rng(3).normal
    initial = jax.tree.map(
        lambda p: p + draw(size=p.shape).astype(dtype), parameters_of(module, inputs)
    )
    assert ("bias" in initial["out"]) == bias
    # The same names, the same shapes: nothing is to be mapped.
    (_, value), found = with_gradients(module, direction, mask=DenseMask(allowed))(initial, inputs)
    (_, expected), slopes = with_gradients(flax, direction, mask=allowed[:, None])(initial, inputs)
    assert value.dtype == dtype
    chex.assert_trees_all_close(value, expected, rtol=tolerance, atol=tolerance)
    chex.assert_trees_all_close(found, slopes, rtol=tolerance, atol=tolerance)


def test_a_bias_of_the_output_alone_equals_flax_with_zeros_for_the_others(float64):
    inputs, allowed, direction = arrays(np.float64)
    module = MultiHead(heads=H, bias="output")
    draw = np.random.default_rng(3).normal
    initial = jax.tree.map(
        lambda p: p + draw(size=p.shape).astype(p.dtype), parameters_of(module, inputs)
    )
    assert [name for name, map_ in initial.items() if "bias" in map_] == ["out"]
    own = {
        name: map_ if name == "out" else map_ | {"bias": np.zeros(map_["kernel"].shape[1:])}
        for name, map_ in initial.items()
    }
    flax = nn.MultiHeadDotProductAttention(num_heads=H)
    (_, value), _ = with_gradients(module, direction, mask=DenseMask(allowed))(initial, inputs)
    (_, expected), _ = with_gradients(flax, direction, mask=allowed[:, None])(own, inputs)
    chex.assert_trees_all_close(value, expected, rtol=1e-12, atol=1e-12)


def test_equals_jax_where_a_row_has_a_key():
    inputs, allowed, direction = arrays()
    heads = [x.reshape(*x.shape[:2], H, -1) for x in inputs]
    side_by_side = DenseMask(np.stack([allowed, allowed], 1))

    def ours(*heads):
        moved = (jnp.moveaxis(x, 1, 2) for x in heads)
        context = jitted.apply(Attention(), {}, *moved, mask=side_by_side, deterministic=True)
        context = jnp.moveaxis(context, 1, 2).reshape(direction.shape)
        return (context * direction).sum(), context

    def theirs(*heads):
        context = jax.nn.dot_product_attention(*heads, mask=side_by_side.allowed)
        context = context.reshape(direction.shape)
        return (context * direction).sum(), context

    ours, theirs = (jax.jit(jax.value_and_grad(f, (0, 1, 2), has_aux=True)) for f in (ours, theirs))
    chex.assert_trees_all_close(ours(*heads), theirs(*heads), rtol=0, atol=2e-6)


def test_one_head_with_identity_projections_is_plain_attention():
    inputs, allowed, _ = arrays(empty_row=True)
    identity = np.eye(D)[:, None]
    kernels = {name: {"kernel": identity} for name in ("query", "key", "value")}
    kernels["out"] = {"kernel": np.eye(D)[None]}
    mask = DenseMask(allowed)
    np.testing.assert_allclose(
        jitted.apply(MultiHead(heads=1), {"params": kernels}, *inputs, mask, deterministic=True),
        jitted.apply(Attention(), {}, *inputs, mask, deterministic=True),
        atol=1e-6,
    )


def test_heads_begin_differently_and_show_their_weights():
    inputs, allowed, _ = arrays()
    module = MultiHead(head=Attention(score=General()), heads=H)
    initial = jitted.init(module, jax.random.key(0), *inputs, deterministic=True)["params"]
    matrices = initial["head"]["score"]["weight"]
    assert matrices.shape == (2, 2, 2)
    assert not np.allclose(matrices[0], matrices[1])
    _, seen = jitted.apply(
        module,
        {"params": initial},
        *inputs,
        DenseMask(allowed),
        deterministic=True,
        mutable=["attention"],
    )
    (weights,) = seen["attention"]["head"]["weights"]
    assert weights.shape == (B, H, T, S)
    np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-6)
    assert (weights[~np.broadcast_to(allowed[:, None], weights.shape)] == 0).all()


@pytest.mark.parametrize("key_width", [8, 128])
def test_queries_and_keys_begin_with_variance_1(key_width):
    """Vaswani et al. 2017, footnote 4, at any width of a head."""
    x = np.random.default_rng(0).normal(size=(1, 400, 64))
    module = MultiHead(heads=4, key_width=key_width)
    params = jitted.init(module, jax.random.key(0), x, x, x, deterministic=True)["params"]
    for name in ("query", "key"):
        projected = np.einsum("bsd,dhk->bshk", x, params[name]["kernel"])
        assert float(projected.var()) == pytest.approx(1, rel=0.1)


def test_of_a_head_taken_out_nothing_is_left():
    """More of heads taken out in test_heads.py."""
    x = np.random.default_rng(0).normal(size=(1, 3, 4))
    module = MultiHead(heads=2, heads_out=(0, 1))
    context, _ = jitted.init_with_output(module, jax.random.key(0), x, deterministic=True)
    assert not context.any()


@pytest.mark.parametrize("key_heads", [None, 1])
def test_queries_and_keys_are_normalized_before_they_are_turned(key_heads, float64):
    inputs, allowed, direction = arrays(jnp.float64)
    module = MultiHead(
        head=Attention(score=Rotary(base=10.0)),
        heads=H,
        key_heads=key_heads,
        query_key_norm=RMSNorm(),
    )
    parameters = parameters_of(module, inputs)
    for name, seed in (("query_norm", 3), ("key_norm", 4)):
        gain = np.random.default_rng(seed).uniform(0.5, 2, D // H)
        assert parameters[name]["scale"].shape == gain.shape, "shared by heads"
        parameters[name]["scale"] = gain

    def normed(x, gain):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * gain

    def turned(x):
        """The only pair of K = 2 features, by as many radians as the position."""
        angle = np.arange(len(x))
        sin, cos = np.sin(angle)[:, None], np.cos(angle)[:, None]
        even, odd = x[:, :1], x[:, 1:]
        return np.concatenate([even * cos - odd * sin, even * sin + odd * cos], -1)

    def context(tree):
        own, inputs = tree
        rows = []
        for query, key, value, mask in zip(*inputs, allowed, strict=True):
            out = 0
            for head in range(H):
                shared = 0 if key_heads else head
                q, k, v = (
                    x @ own[name]["kernel"][:, number]
                    for x, name, number in (
                        (query, "query", head),
                        (key, "key", shared),
                        (value, "value", shared),
                    )
                )
                q, k = (
                    turned(normed(x, own[name]["scale"]))
                    for x, name in ((q, "query_norm"), (k, "key_norm"))
                )
                weights = oracle.softmax(oracle.scaled_dot(q, k), mask)
                out = out + weights @ v @ own["out"]["kernel"][head]
            rows.append(out)
        return np.array(rows)

    tree = parameters, list(inputs)
    read = with_gradients(module, direction, mask=DenseMask(allowed))
    (_, found), slopes = read(parameters, list(inputs))
    np.testing.assert_allclose(found, context(tree), atol=1e-9)
    expected = oracle.gradient(lambda tree: (context(tree) * direction).sum(), tree)
    chex.assert_trees_all_close(slopes, expected, atol=1e-7)


def test_heads_that_do_not_divide_the_width_are_refused():
    inputs, _, _ = arrays()
    with pytest.raises(ValueError, match="3 heads do not divide the width 4"):
        jitted.init(MultiHead(heads=3), jax.random.key(0), *inputs, deterministic=True)


class ByHead(Score):
    """No parameters, and in each head another scale."""

    def __call__(self, query, key, positions):
        return dot(query, key) * 2.0 ** -jax.lax.axis_index("heads")


def test_a_part_of_a_user_may_ask_which_head_it_is_in():
    (query, key, value), allowed, _ = arrays()
    module = MultiHead(head=Attention(score=ByHead()), heads=H)
    parameters = {"params": parameters_of(module, (query, key, value))}
    found = [
        jitted.apply(
            module,
            parameters,
            query,
            key,
            value,
            DenseMask(allowed),
            deterministic=how,
            mutable=["attention"],
        )[1]["attention"]["head"]["logits"][0]
        for how in (True, False)
    ]
    plain = MultiHead(head=Attention(score=Dot()), heads=H)
    _, seen = jitted.apply(
        plain,
        parameters,
        query,
        key,
        value,
        DenseMask(allowed),
        deterministic=True,
        mutable=["attention"],
    )
    expected = seen["attention"]["head"]["logits"][0] * np.array([1.0, 0.5])[None, :, None, None]
    for logits in found:
        np.testing.assert_allclose(logits, expected, rtol=1e-5)
