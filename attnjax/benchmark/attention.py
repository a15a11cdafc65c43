"""Causal attention, forward and backward: 8 heads of 64, one sequence."""

import jax

from attnjax.attention.fused.dispatch import fused
from attnjax.attention.mask import Causal
from attnjax.benchmark.workload import Prepared, Workload

HEADS, WIDTH = 8, 64
LENGTHS = (512, 2_048, 8_192)


def prepare(length: int, rows: int = 1, heads: int = HEADS, dtype: str = "float32") -> Prepared:
    """Queries, keys and values of a length, and the gradients of all three."""
    keys = jax.random.split(jax.random.key(0), 3)
    given = [jax.random.normal(key, (rows, heads, length, WIDTH), dtype) for key in keys]

    @jax.jit
    def gradients(query: jax.Array, key: jax.Array, value: jax.Array):
        def total(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
            return fused(query, key, value, Causal(), scale=WIDTH**-0.5).sum()

        return jax.grad(total, (0, 1, 2))(query, key, value)

    return Prepared(call=lambda: gradients(*given), flops=rows * flops(length, heads))


def flops(length: int, heads: int = HEADS) -> int:
    """Two products forward and five backward, over the pairs that the mask allows."""
    return 7 * 2 * heads * WIDTH * length * (length + 1) // 2


WORKLOADS = tuple(
    Workload(
        name=f"attention-{length}",
        prepare=lambda length=length: prepare(length),
        peer=("torch_attention.py", str(length), "1", str(HEADS), "cpu"),
    )
    for length in LENGTHS
)
