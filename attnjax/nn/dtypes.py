"""The dtype of sums: float32 or wider, whatever the dtype of their terms."""

from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp


def wide(*terms: Any) -> jnp.dtype:
    """The dtype of a sum of terms, which are arrays or dtypes."""
    dtypes = (getattr(term, "dtype", term) for term in terms)
    return reduce(jnp.promote_types, dtypes, jnp.dtype(jnp.float32))


def widen(x: jax.Array) -> jax.Array:
    """The array in the dtype of sums."""
    return x.astype(wide(x))
