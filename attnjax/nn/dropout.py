"""Dropout whose draws do not depend on the number of devices: see `attnjax.nn.counter_hash`."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jax.core import Tracer

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


def is_left_out(rate: float, deterministic: bool | None) -> bool:
    """Return whether a call leaves out dropout of this rate; at the rate 0 it need not say so.

    Raises:
        UserError: the rate is above 0 and the call does not say it, or by a number that is being
            traced, which Flax's lifts, such as `nn.remat`, make of every argument.
    """
    if deterministic is not None and not isinstance(deterministic, Tracer):
        return bool(deterministic)
    if rate == 0.0:
        return True
    given = "nothing" if deterministic is None else "a traced value"
    raise UserError(
        f"with dropout, here {rate}, a call wants deterministic=True or False, known before "
        f"compiling; got {given}: pass it, give MultiHead's field deterministic, or lift a "
        "function that closes over it, as docs/extending/layer.md does"
    )


def said_once(field: bool | None, call: bool | None) -> bool | None:
    """Return what a call says of dropout, else what a module's field `deterministic` does.

    Raises:
        UserError: both do.
    """
    if field is not None and call is not None:
        raise UserError(
            f"deterministic is given twice, by the field, {field}, and in the call: leave one out"
        )
    return field if call is None else call


class Dropout(nn.Module):
    """Dropout as a module, see `dropout`; its key comes from the random stream "dropout"."""

    rate: DropoutRate

    def __call__(self, x: jax.Array, *, deterministic: bool | None) -> jax.Array:
        """Return x itself if deterministic, see `is_left_out`, else x with entries dropped."""
        if self.rate == 0.0 or is_left_out(self.rate, deterministic):
            return x
        return dropout(x, self.make_rng("dropout"), self.rate)
