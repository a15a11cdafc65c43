"""Derivatives of blockwise attention that are no gradients, against the dense path."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import Partial

from attnjax.attention import MultiHead
from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.mask import Causal, Padding
from attnjax.attention.position import Positions
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
            Inputs(query, key, value, mask, bias=Partial(tilted, *own), scale=0.5), TILE
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
