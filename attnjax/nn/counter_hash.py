"""Random bits that do not depend on how the batch is laid out over devices.

The bits are a hash of (key, number of the example in the global batch, index within the example);
the key holds the step and the layer. So one device and eight devices, under a mesh or under pmap,
draw the same bits. The hash is plain arithmetic, which XLA fuses into the operation that uses it.
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
    # The odd factor spreads neighboring indices, so that two examples never share a shifted row.
    index = jnp.arange(int(np.prod(shape[1:])), dtype=jnp.uint32) * np.uint32(0x9E3779B9)
    return _hash(example[:, None] ^ index[None, :]).reshape(shape)


def uniform(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Uniform random numbers above 0 and below 1: float32, from 23 bits each.

    Args:
        key: a jax.random key.
        shape: as for `bits`.
    """
    # An odd number of 24 bits is exact in float32, above 0 and below 2^24.
    odd = (bits(key, shape) >> 9) * np.uint32(2) + np.uint32(1)
    return odd.astype(jnp.float32) * np.float32(2**-24)


def _examples(count: int) -> jax.Array:
    """Numbers of the examples in the global batch; under pmap those of this device."""
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
