"""Bytes of Pallas kernels: a block is moved when it changes."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

from attnjax.evaluation.flops import product_flops
from attnjax.lab.rehearsal.traffic import kernel_bytes

ROWS, COLUMNS, WIDTH, BLOCK = 512, 256, 128, 128


def products(x, y):
    """x @ y.T by blocks: x's change with the first axis of the grid, y's with the second."""

    def kernel(x, y, z):
        z[...] = x[...] @ y[...].T

    return pl.pallas_call(
        kernel,
        grid=(ROWS // BLOCK, COLUMNS // BLOCK),
        in_specs=[
            pl.BlockSpec((BLOCK, WIDTH), lambda i, j: (i, 0)),
            pl.BlockSpec((BLOCK, WIDTH), lambda i, j: (j, 0)),
        ],
        out_specs=pl.BlockSpec((BLOCK, BLOCK), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32),
        interpret=True,
    )(x, y)


def moved(function, *arguments):
    return kernel_bytes(jax.make_jaxpr(function)(*arguments).jaxpr)


def test_a_block_is_moved_when_it_changes():
    x, y = jnp.ones((ROWS, WIDTH)), jnp.ones((COLUMNS, WIDTH))
    once_x = ROWS * WIDTH
    every_time_y = ROWS // BLOCK * COLUMNS * WIDTH
    assert moved(products, x, y) == 4 * (once_x + every_time_y + ROWS * COLUMNS)
    assert moved(lambda x, y: x @ y.T, x, y) == 0


def test_a_loop_moves_as_often_as_it_runs():
    x, y = jnp.ones((ROWS, WIDTH)), jnp.ones((COLUMNS, WIDTH))

    def summed(x, y):
        zero = jnp.zeros((ROWS, COLUMNS))
        return jax.lax.scan(lambda z, _: (z + products(x, y), None), zero, None, length=5)[0]

    assert moved(summed, x, y) == 5 * moved(products, x, y)


def test_the_products_of_a_kernel_count_for_every_point_of_its_grid():
    x, y = jnp.ones((ROWS, WIDTH)), jnp.ones((COLUMNS, WIDTH))
    assert product_flops(products, x, y) == product_flops(lambda x, y: x @ y.T, x, y)
