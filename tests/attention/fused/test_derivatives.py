"""Derivatives of blockwise attention that are no gradients, against the dense path."""

from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn
from jax.tree_util import Partial

from attnjax.attention import Attention, DotProduct, MultiHead, Score
from attnjax.attention.fused import FUSED_FROM, fused
from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.mask import Causal, Padding
from attnjax.attention.position import Positions
from attnjax.errors import UserError
from tests import jitted
from tests.attention.fused.test_blockwise import (
    TILE,
    B,
    H,
    dense,
    groups as groups,
    inputs,
    positions,
    tilted,
)


@pytest.mark.parametrize(
    "lifted",
    [pytest.param(False, id="alone", marks=pytest.mark.long), pytest.param(True, id="vmap")],
)
def test_every_derivative_is_that_of_the_dense_path(lifted, float64):
    """Forward mode, and derivatives of gradients, with a bias and rows that see nothing."""
    arrays, direction = inputs(5, 6)
    own = np.random.default_rng(2).random((B, H)), arrays[0][..., 0, :]
    mask = Causal() & Padding(np.arange(6)[None, None] > 1)
    at, of = positions(5, 6)

    def by_tiles(query, key, value, *own):
        return blockwise(
            Inputs(query, key, value, mask, logit_bias=Partial(tilted, *own), scale=0.5), TILE
        )

    def by_weights(query, key, value, *own):
        shape = query.shape[:-2]
        places = Positions(*(jnp.broadcast_to(x, (*shape, x.shape[-1])) for x in (at, of)))
        bias = tilted(*own, query / 2, places)
        return dense(query, key, value, mask, at, of, bias)

    @jax.jit
    def derivatives(given):
        def every(attend):
            run = jax.vmap(attend) if lifted else attend

            def total(given):
                context = run(*given)
                return (context**2 * jnp.broadcast_to(direction, context.shape)).sum()

            def along(given):
                return jax.jvp(total, (given,), (given,))[1]

            def size(given):
                return sum((slope**2).sum() for slope in jax.tree.leaves(jax.grad(total)(given)))

            def stretched(by):
                return run(*(by * x for x in given))

            return {
                "forward": along(given),
                "forward of many": jax.jacfwd(stretched)(jnp.float64(0.5)),
                "of the gradient": jax.grad(size)(given),
                "forward of the gradient": jax.jvp(jax.grad(total), (given,), (given,))[1],
                "gradient of forward": jax.grad(along)(given),
                "forward of forward": jax.jvp(along, (given,), (given,))[1],
            }

        return every(by_tiles), every(by_weights)

    given = (*arrays, *own)
    if lifted:
        given = jax.tree.map(lambda x: np.stack([x, x / 2]), given)
    found, expected = derivatives(given)
    chex.assert_trees_all_close(found, expected, rtol=1e-10, atol=1e-10)


def test_a_long_text_has_the_derivatives_of_a_short_one():
    """From 256 words on the layer is blockwise by itself."""
    x = np.float32(np.random.default_rng(0).normal(size=(1, 256, 2)))
    layer = MultiHead(heads=1)
    variables = jitted.init(layer, jax.random.key(1), x, deterministic=True)

    def total(x, **options):
        found = layer.apply(variables, x, mask=Causal(), deterministic=True, **options)
        return ((found[0] if options else found) ** 2).sum()

    @jax.jit
    def both(x):
        # who asks for the weights gets the dense path
        runs = total, lambda x: total(x, mutable=["attention"])
        return [jax.jvp(jax.grad(run), (x,), (x,)) for run in runs]

    found, expected = jax.device_get(both(x))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * abs(theirs).max())


class Sharp(Score, fusible=True):
    """logits = e^a query . key, with a learned a; in a cap that is learned, too, if it has one."""

    capped: bool = False

    @nn.compact
    def __call__(self, query, key, positions):
        return self.as_dot_product(query, key, positions).logits(positions)

    @nn.compact
    def as_dot_product(self, query, key, positions):
        sharpness = jnp.exp(self.param("sharpness", nn.initializers.constant(-0.5), ()))
        cap = jnp.exp(self.param("cap", nn.initializers.zeros, ())) if self.capped else None
        return DotProduct(query, key, sharpness, cap=cap)


@pytest.mark.parametrize("capped", [False, True])
def test_numbers_that_a_score_learns_have_their_gradients_at_any_length(capped):
    """From so many words on a kernel computes; it has no gradient of a constant."""
    length = min(FUSED_FROM.values())
    x = jnp.asarray(np.random.default_rng(0).normal(size=(1, length, 4)), jnp.float32)
    auto, by_weights = (
        Attention(score=Sharp(capped=capped), implementation=implementation)
        for implementation in ("auto", "dense")
    )
    params = jitted.drawn(auto, x, deterministic=True)

    def slopes(attention):
        def loss(params, x):
            context = attention.apply(params, x, mask=Causal(), deterministic=True)
            return (context**3).sum()

        return jax.jit(jax.grad(loss, (0, 1)))(params, x)

    found, expected = slopes(auto), slopes(by_weights)
    assert all(abs(slope) > 0.1 for slope in jax.tree.leaves(expected[0]))
    chex.assert_trees_all_close(found, expected, rtol=2e-4, atol=2e-4)
    chosen = Attention(score=Sharp(capped=capped), implementation="blockwise")
    if capped:
        with pytest.raises(UserError, match="blockwise cannot compute a cap that is an array, suc"):
            chosen.apply(params, x, mask=Causal(), deterministic=True)
    else:
        chex.assert_trees_all_close(slopes(chosen), expected, rtol=2e-4, atol=2e-4)


def test_a_scale_of_the_kernel_is_an_array_with_derivatives():
    arrays, _ = inputs(5, 6)
    query, key, value = (jnp.asarray(x, jnp.float32) for x in arrays)

    def by_kernel(scale):
        return (fused(query, key, value, scale=scale, layout="BNTH") ** 2).sum()

    def by_weights(scale):
        logits = scale * jnp.einsum("...tk,...sk->...ts", query, key)
        context = jnp.einsum("...ts,...sv->...tv", jax.nn.softmax(logits), value)
        return (context**2).sum()

    scales = jnp.array([0.3, -0.7])
    for derive in (jax.grad, jax.jacfwd, lambda of: jax.grad(jax.grad(of))):
        found, expected = (jax.jit(jax.vmap(derive(of)))(scales) for of in (by_kernel, by_weights))
        np.testing.assert_allclose(found, expected, rtol=1e-4)
    np.testing.assert_allclose(by_kernel(np.array(0.3)), jax.jit(by_weights)(0.3), rtol=1e-5)


def test_what_a_kernel_takes_for_a_constant_is_refused_if_it_is_learned():
    (query, key, value), _ = inputs(5, 6)

    def by_cap(cap):
        return fused(query, key, value, cap=cap, layout="BNTH").sum()

    def with_bias(bias):
        return fused(query, key, value, bias=bias, layout="BNTH")

    def by_bias(slope):
        return with_bias(lambda q, at: slope * (q.sum(-1, keepdims=True))).sum()

    def by_partial(slope):
        return with_bias(partial(lambda s, q, at: s * q[..., :1], slope)).sum()

    for of, said in ((by_cap, "a cap that"), (by_bias, "a bias that cl"), (by_partial, "a bias")):
        with pytest.raises(UserError, match=f"fused cannot compute {said}"):
            jax.eval_shape(jax.grad(of), 1.5)
        assert np.isfinite(of(1.5))
