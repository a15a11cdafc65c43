"""The speed of a large matrix product: the limit that workloads are compared with."""

import jax
import jax.numpy as jnp

from attnjax.benchmark.workload import Prepared

CPU_SIDE, GPU_SIDE = 2_048, 8_192
"""The side of the matrices, large enough for every core to reach its best speed."""


def product(side: int, dtype: str = "float32") -> Prepared:
    """A product of two square matrices."""
    left, right = jax.random.normal(jax.random.key(0), (2, side, side), dtype)
    multiply = jax.jit(jnp.matmul)
    return Prepared(call=lambda: multiply(left, right), flops=2 * side**3)
