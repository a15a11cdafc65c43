"""The dtype of sums: float32 or wider, whatever the dtype of their terms."""

from typing import Any

import jax
import jax.numpy as jnp


def wide(*terms: Any) -> jnp.dtype:
    """Return the dtype of a sum of terms, which are arrays or dtypes."""
    return jnp.result_type(jnp.float32, *terms)


def widen(x: jax.Array) -> jax.Array:
    """Cast an array to the dtype of sums."""
    return x.astype(wide(x))


def as_floats(x: jax.Array) -> jax.Array:
    """Cast whole numbers and booleans to float32; floats stay as they are."""
    return x if jnp.issubdtype(jnp.result_type(x), jnp.inexact) else jnp.asarray(x, jnp.float32)
