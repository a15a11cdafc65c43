"""Arithmetic is counted as it would be by hand."""

import functools

import jax
import jax.numpy as jnp
import pytest
from flax import linen as nn

from attnjax.evaluation.flops import product_flops
from attnjax.training.objectives.cross_entropy import cross_entropy

M, K, N, STEPS = 3, 5, 7, 4
LEFT, RIGHT = jnp.ones((M, K)), jnp.ones((K, N))
PRODUCT = 2 * M * K * N


def looped(left, right):
    return jax.lax.scan(lambda total, _: (total + left @ right, None), 0 * (left @ right), length=4)


def branched(left, right):
    return jax.lax.cond(left[0, 0] > 0, lambda: left @ right, lambda: (left @ right) + left @ right)


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (jnp.matmul, PRODUCT),
        (jax.jit(jnp.matmul), PRODUCT),
        (looped, (1 + STEPS) * PRODUCT),
        (branched, 2 * PRODUCT),
        (jax.checkpoint(jnp.matmul), PRODUCT),
        (lambda left, right: jnp.tanh(left).sum() + right.sum(), 0),
        (jax.value_and_grad(lambda left, right: (left @ right).sum()), 2 * PRODUCT),
    ],
)
def test_products(function, wanted):
    assert product_flops(function, LEFT, RIGHT) == wanted


def test_batches_and_convolutions():
    batched = functools.partial(jnp.einsum, "bmk,bkn->bmn")
    assert product_flops(batched, jnp.ones((2, M, K)), jnp.ones((2, K, N))) == 2 * PRODUCT
    convolution = nn.Conv(features=6, kernel_size=(3, 3), use_bias=False)
    image = jax.ShapeDtypeStruct((2, 8, 8, 5), jnp.float32)
    counted = product_flops(lambda x: convolution.init_with_output(jax.random.key(0), x)[0], image)
    assert counted == 2 * (2 * 8 * 8 * 6) * (3 * 3 * 5)


def test_the_fused_loss_counts_every_chunk_and_its_own_backward_pass():
    tokens, width, words = 2048, 4, 11  # four chunks
    shapes = (
        jax.ShapeDtypeStruct((1, tokens, width), jnp.float32),
        jax.ShapeDtypeStruct((words, width), jnp.float32),
        jax.ShapeDtypeStruct((1, tokens), jnp.int32),
    )

    def loss(hidden, table, target):
        return cross_entropy(hidden, table, target, smoothing=0.1)["loss"][0]

    assert product_flops(jax.grad(loss, (0, 1)), *shapes) == 3 * 2 * tokens * width * words
