"""Dropout whose draws do not depend on the number of devices: see `attnjax.nn.counter_hash`."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

from attnjax.config.constraints import DropoutRate
from attnjax.errors import UserError
from attnjax.nn.counter_hash import bits


def dropout(x: jax.Array, key: jax.Array, rate: float) -> jax.Array:
    """Return x / (1 - rate) with probability 1 - rate, else 0, for each entry of x.

    The leading axis of x numbers the examples.

    Raises:
        UserError: the rate is outside [0, 1).

    Source: Srivastava et al. 2014.
    """
    if not 0.0 <= rate < 1.0:
        raise UserError(f"a dropout rate must be at least 0 and below 1; got {rate}")
    kept = bits(key, x.shape) >= np.uint32(min(round(rate * 2**32), 2**32 - 1))
    return jnp.where(kept, x / (1.0 - rate), jnp.zeros((), x.dtype)).astype(x.dtype)


class Dropout(nn.Module):
    """Dropout as a module, see `dropout`; its key comes from the random stream "dropout"."""

    rate: DropoutRate

    def __call__(self, x: jax.Array, *, deterministic: bool) -> jax.Array:
        """Return x itself if deterministic, else x with entries dropped."""
        if deterministic or self.rate == 0.0:
            return x
        return dropout(x, self.make_rng("dropout"), self.rate)
