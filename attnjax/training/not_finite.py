"""An update whose loss or gradient is not finite is skipped."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp


def skip_unless_finite(before: Any, after: Any, metrics: Mapping[str, jax.Array]) -> Any:
    """The state after an update, but with the values before it if the update is to be skipped.

    An update is skipped if the loss or the norm of the gradient is not finite. Whole numbers are
    always those after it: they are the counts that a schedule of the learning rate goes by. The
    second result says whether the update was skipped, 0.0 or 1.0.
    """
    finite = jnp.isfinite(metrics["loss"]) & jnp.isfinite(metrics["gradient_norm"])

    def keep(new: jax.Array, old: jax.Array) -> jax.Array:
        is_value = jnp.issubdtype(new.dtype, jnp.inexact)
        return jnp.where(finite, new, old) if is_value else new

    return jax.tree.map(keep, after, before), 1.0 - finite.astype(jnp.float32)
