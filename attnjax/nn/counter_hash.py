"""Random bits that depend on what an entry is, not on how the batch is laid out.

The bits are a hash of (key, number of the example in the global batch, place within the example).
The key already holds the step and the layer. So one device and eight devices, under a mesh or
under pmap, draw the same; and since the hash is plain arithmetic, XLA fuses it into what uses it.
"""

import jax
import jax.numpy as jnp
import numpy as np


def bits(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Random bits, uint32 of this shape.

    Args:
        key: a jax.random key.
        shape: [B, ...]; the leading axis numbers the examples.

    Source: the hash is Wellons' lowbias32 (two multiply-xorshift rounds).
    """
    high, low = jax.random.key_data(key).astype(jnp.uint32)[-2:]
    example = _hash(_hash(_examples(shape[0]) ^ high) ^ low)
    places = int(np.prod(shape[1:]))
    # The odd factor spreads neighbouring places, so that two examples never share a shifted row.
    place = jnp.arange(places, dtype=jnp.uint32) * np.uint32(0x9E3779B9)
    return _hash(example[:, None] ^ place[None, :]).reshape(shape)


def uniform(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Random numbers between 0 and 1, never one of the two: float32, from 23 bits each.

    Args:
        key: a jax.random key.
        shape: as for `bits`.
    """
    # An odd number of 24 bits is exact in float32, and neither 0 nor 2^24.
    odd = (bits(key, shape) >> 9) * np.uint32(2) + np.uint32(1)
    return odd.astype(jnp.float32) * np.float32(2**-24)


def _examples(count: int) -> jax.Array:
    """The examples' numbers in the global batch: under pmap this device's share of them."""
    numbers = jnp.arange(count, dtype=jnp.uint32)
    try:
        return numbers + jax.lax.axis_index("data").astype(jnp.uint32) * np.uint32(count)
    except NameError:  # no axis "data": the array is the global batch
        return numbers


def _hash(x: jax.Array) -> jax.Array:
    """A bijection of uint32 in which every bit of x moves every bit of the result."""
    x = (x ^ (x >> 16)) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * np.uint32(0x846CA68B)
    return x ^ (x >> 16)
