"""Dropout whose bits depend on what an entry is, not on how the batch is laid out.

The bits are a hash of (key, number of the example in the global batch, place within the example).
The key already holds the step and the layer. So one device and eight devices, under a mesh or
under pmap, drop the same entries; and since the hash is plain arithmetic, XLA fuses it into the
product that it masks.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

from attnjax.errors import UserError


def dropout(x: jax.Array, key: jax.Array, rate: float) -> jax.Array:
    """Keep each entry with probability 1 - rate, scaled by 1 / (1 - rate); else 0.

    Args:
        x: [B, ...]; the leading axis numbers the examples.
        key: a jax.random key.
        rate: in [0, 1).

    Raises:
        UserError: the rate is outside [0, 1).

    Source: Srivastava et al. 2014; the hash is Wellons' lowbias32 (two multiply-xorshift rounds).
    """
    if not 0.0 <= rate < 1.0:
        raise UserError(f"a dropout rate must lie in [0, 1); got {rate}")
    high, low = jax.random.key_data(key).astype(jnp.uint32)[-2:]
    example = _hash(_hash(_examples(x.shape[0]) ^ high) ^ low)
    places = int(np.prod(x.shape[1:]))
    # The odd factor spreads neighbouring places, so that two examples never share a shifted row.
    place = jnp.arange(places, dtype=jnp.uint32) * np.uint32(0x9E3779B9)
    bits = _hash(example[:, None] ^ place[None, :]).reshape(x.shape)
    kept = bits >= np.uint32(min(round(rate * 2**32), 2**32 - 1))
    return jnp.where(kept, x / (1.0 - rate), jnp.zeros((), x.dtype)).astype(x.dtype)


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


class Dropout(nn.Module):
    """`dropout` as a part, with a key of its own from the stream "dropout".

    Attributes:
        rate: in [0, 1).
    """

    rate: float

    def __call__(self, x: jax.Array, *, deterministic: bool) -> jax.Array:
        """Return x itself when deterministic."""
        if deterministic or self.rate == 0.0:
            return x
        return dropout(x, self.make_rng("dropout"), self.rate)
