"""Random bits that do not depend on how the batch is divided among devices.

The bits are a hash of (key, number of the example in the global batch, index within the example);
the key depends on the step and the layer. One device and eight devices draw the same bits, under a
mesh or pmap, in one batch or in micro-batches. XLA fuses the hash into the operation that uses it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.nn.axes import DATA, inside


def bits(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Draw random bits: uint32 of a shape whose leading axis, B, numbers the examples.

    Source: the hash is Wellons' lowbias32 (two multiply-xorshift rounds).
    """
    high, low = jax.random.key_data(key).astype(jnp.uint32)[-2:]
    example = _hash(_hash(_examples(shape[0]) ^ high) ^ low)
    # The odd factor spreads neighboring indices, so that two examples never share a shifted row.
    index = jnp.arange(int(np.prod(shape[1:])), dtype=jnp.uint32) * np.uint32(0x9E3779B9)
    return _hash(example[:, None] ^ index[None, :]).reshape(shape)


def uniform(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Draw uniform random numbers in (0, 1): float32, from 23 random bits each."""
    # An odd number of 24 bits is exact in float32, above 0 and below 2^24.
    odd = (bits(key, shape) >> 9) * np.uint32(2) + np.uint32(1)
    return odd.astype(jnp.float32) * np.float32(2**-24)


_rows: ContextVar[tuple[jax.Array, int] | None] = ContextVar("rows", default=None)


@contextmanager
def part_of_batch(*, first: jax.Array, rows: int) -> Iterator[None]:
    """Offset row numbers while tracing a micro-batch: its bits equal those of the whole batch.

    `first` is the number of the micro-batch's first row among the device's rows, `rows` the number
    of the device's rows.
    """
    token = _rows.set((first.astype(jnp.uint32), rows))
    try:
        yield
    finally:
        _rows.reset(token)


def _examples(count: int) -> jax.Array:
    """Return the numbers in the global batch of the examples that are computed here."""
    numbers, rows = jnp.arange(count, dtype=jnp.uint32), count
    if (part := _rows.get()) is not None:
        first, rows = part
        numbers = numbers + first
    if not inside(DATA):  # one device has the global batch
        return numbers
    return numbers + jax.lax.axis_index(DATA).astype(jnp.uint32) * np.uint32(rows)


def _hash(x: jax.Array) -> jax.Array:
    """Map uint32 one to one: every bit of x influences every bit of the result."""
    x = (x ^ (x >> 16)) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * np.uint32(0x846CA68B)
    return x ^ (x >> 16)
