"""Accumulation: a device computes its share of a batch a few rows at a time and adds up the sums.

How many rows that are changes no result: gradients and metrics are sums over rows, which are
divided once, and dropout draws by the number of the row in the global batch.
"""

from collections.abc import Callable
from math import ceil
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.data.special_tokens import PAD
from attnjax.nn.counter_hash import part_of_batch


def micro_batches(rows: int, longest: int, device_tokens: int | None) -> int:
    """Return the fewest micro-batches of equally many rows of at most `device_tokens` tokens each.

    `rows` are a device's rows of a batch, `longest` is the length of a row. A row is not cut, so a
    micro-batch has at least one; None: one micro-batch of all rows.
    """
    if device_tokens is None:
        return 1
    return ceil(rows / max(1, device_tokens // longest))


def accumulate[T](sums: Callable[[Any], T], batch: Any, device_tokens: int | None) -> T:
    """Add up sums(batch) of a device's rows over micro-batches, one after the other.

    Rows of PAD (or NaN) fill the last one.
    """
    rows = len(batch.target)
    longest = max(batch.source.shape[1], batch.target.shape[1])
    count = micro_batches(rows, longest, device_tokens)
    if count == 1:
        return sums(batch)
    most = ceil(rows / count)

    def divided(x: jax.Array) -> jax.Array:
        """Pad and reshape [rows, ...] to [count, most, ...]."""
        filler = PAD if jnp.issubdtype(x.dtype, jnp.integer) else jnp.nan
        filled = ((0, count * most - rows),) + ((0, 0),) * (x.ndim - 1)
        return jnp.pad(x, filled, constant_values=filler).reshape(count, most, *x.shape[1:])

    def add(total: T, part: tuple[jax.Array, Any]) -> tuple[T, None]:
        number, batch = part
        with part_of_batch(first=number * most, rows=rows):
            return jax.tree.map(jnp.add, total, sums(batch)), None

    divided_batch = jax.tree.map(divided, batch)
    shapes = jax.eval_shape(sums, jax.tree.map(lambda x: x[0], divided_batch))
    zero = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    return jax.lax.scan(add, zero, (jnp.arange(count), divided_batch))[0]
