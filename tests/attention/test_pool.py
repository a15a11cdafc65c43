"""Pools: the weighted sum, and the one whose values know their distance."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.base import Softmax, Uniform
from attnjax.attention.attention import Attention
from attnjax.attention.fused import dispatch, fused
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, DenseMask, Segments
from attnjax.attention.pool import Pool, RelativeSum, WeightedSum, weighted_sum
from attnjax.attention.position import Positions
from attnjax.errors import UserError
from tests import jitted
from tests.attention import oracle

B, T, S, K, V = 2, 4, 6, 3, 2


def relative_sum(weights, value, vectors):
    """Shaw et al. 2018, eq. 3: every pair has a value of its own."""
    k = len(vectors) // 2

    def context(t):
        moved = [v + vectors[min(max(s - t, -k), k) + k] for s, v in enumerate(value)]
        return sum(w * v for w, v in zip(weights[t], moved, strict=True))

    return np.array([context(t) for t in range(len(weights))])


def test_equals_the_paper_with_gradients(float64):
    draw = np.random.default_rng(0).normal
    inputs = [draw(size=(B, n, width)) for n, width in ((T, K), (S, K), (S, V))]
    direction, vectors = draw(size=(B, T, V)), draw(size=(5, V))
    allowed = np.random.default_rng(1).random((B, T, S)) < 0.7
    allowed[0, 1] = False
    module = Attention(pool=RelativeSum(max_distance=2))

    def context(tree):
        return np.array(
            [
                relative_sum(oracle.softmax(oracle.scaled_dot(q, k), a), v, tree[0])
                for q, k, v, a in zip(*tree[1], allowed, strict=True)
            ]
        )

    def read(vectors, inputs):
        parameters = {"params": {"pool": {"by_distance": vectors}}}
        found = module.apply(parameters, *inputs, DenseMask(allowed), deterministic=True)
        return (found * direction).sum(), found

    tree = vectors, inputs
    slopes = oracle.gradient(lambda tree: (context(tree) * direction).sum(), tree)
    (_, value), found = jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))(vectors, inputs)
    np.testing.assert_allclose(value, context(tree), rtol=0, atol=1e-12)
    chex.assert_trees_all_close(found, slopes, rtol=0, atol=1e-12)


def test_without_vectors_it_is_the_weighted_sum():
    draw = np.random.default_rng(0).normal
    weights, value = (
        jnp.asarray(draw(size=(1, *shape)), jnp.bfloat16) for shape in ((T, S), (S, V))
    )
    at = Positions(np.arange(T)[None], np.arange(S)[None])
    zeros = {"params": {"by_distance": np.zeros((33, V), np.float32)}}
    found = jitted.apply(RelativeSum(), zeros, weights, value, at)
    np.testing.assert_array_equal(found, jax.jit(weighted_sum)(weights, value))
    assert found.dtype == jnp.bfloat16


def test_many_small_weights_of_one_distance_add_up_in_half_precision():
    """In bfloat16 a sum of 1 / 1,024 stops growing at 1 / 4."""
    keys = 1_024
    weights = jnp.asarray(np.full((1, 1, keys), 1 / keys), jnp.bfloat16)
    at = Positions(np.full((1, 1), keys), np.arange(keys)[None])
    vectors = {"params": {"by_distance": np.ones((3, V), np.float32)}}
    value = jnp.asarray(np.zeros((1, keys, V)), jnp.bfloat16)
    found = jitted.apply(RelativeSum(max_distance=1), vectors, weights, value, at)
    np.testing.assert_array_equal(found, np.ones((1, 1, V)))


def test_packed_sentences_are_each_alone_in_every_head():
    x = np.random.default_rng(0).normal(size=(1, 7, 8))
    places, rows = np.array([[0, 1, 2, 0, 1, 2, 3]]), np.array([[0, 0, 0, 1, 1, 1, 1]])
    module = MultiHead(head=Attention(pool=RelativeSum(max_distance=2)), heads=2)
    variables = jitted.init(module, jax.random.key(0), x, deterministic=True, mutable=["params"])
    vectors = variables["params"]["head"]["pool"]["by_distance"]
    assert vectors.shape == (2, 5, 4)
    assert not np.allclose(*vectors)

    def read(x, mask, **positions):
        return jitted.apply(module, variables, x, x, x, mask, **positions, deterministic=True)

    packed = read(x, Causal() & Segments(rows, rows), positions=Positions(places, places))
    alone = [read(part, Causal()) for part in (x[:, :3], x[:, 3:])]
    np.testing.assert_allclose(packed, np.concatenate(alone, 1), atol=1e-5)


class Doubled(WeightedSum):
    """A subclass that computes a context of its own."""

    def __call__(self, weights, value, positions):
        return 2 * weighted_sum(weights, value)


@pytest.mark.parametrize("pool", [RelativeSum(), Doubled()], ids=lambda pool: type(pool).__name__)
def test_a_pool_that_is_no_weighted_sum_needs_the_weights(pool: Pool):
    name = type(pool).__name__
    assert f"for the pool {name}" in Attention(pool=pool).describe()
    x = np.ones((1, 4, 2))
    with pytest.raises(UserError, match=rf"the pool {name} needs the \[T, S\] weights"):
        jitted.init(
            Attention(pool=pool, implementation="blockwise"),
            jax.random.key(0),
            x,
            deterministic=True,
        )


def test_a_subclass_is_asked_at_every_length():
    x = np.ones((1, 2 * min(dispatch.FUSED_FROM.values()), 2))
    found = jitted.apply(Attention(pool=Doubled()), {}, x, deterministic=True)
    np.testing.assert_allclose(found, 2 * x, atol=1e-5)


@pytest.mark.parametrize("kind", [np.int32, np.uint8, bool])
def test_whole_numbers_and_booleans_are_pooled_as_floats(kind):
    """The mean of 0, 0, 0, 1 is a quarter, not its whole part."""
    value = np.array([[0], [0], [0], [1]], kind)
    flat = np.zeros((4, 2), np.float32)
    contexts = [
        fused(flat, flat, jnp.asarray(value)),
        *(
            Attention(align=align).apply({}, flat, flat, jnp.asarray(value), deterministic=True)
            for align in (Softmax(), Uniform())
        ),
    ]
    for context in contexts:
        assert context.dtype == np.float32
        np.testing.assert_allclose(context, 0.25)
