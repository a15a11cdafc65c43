"""The dtype of sums: float32 or wider, whatever the dtype of their terms."""

from typing import Any

import jax
import jax.numpy as jnp


def wide(*terms: Any) -> jnp.dtype:
    """The dtype of a sum of terms, which are arrays or dtypes."""
    return jnp.promote_types(jnp.result_type(*(getattr(x, "dtype", x) for x in terms)), jnp.float32)


def widen(x: jax.Array) -> jax.Array:
    """The array in the dtype of sums."""
    return x.astype(wide(x))
