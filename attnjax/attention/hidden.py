"""What stands in place of keys and values that a mask hides from every query."""

import jax
import jax.numpy as jnp

from attnjax.attention.mask import Mask


def zero_hidden(mask: Mask, x: jax.Array) -> jax.Array:
    """Set values [..., S, any] to 0 where the mask hides the key from every query.

    The weight of a hidden key is 0, and 0 times NaN or infinity, which padding may hold, is NaN.
    A key that examples share is 0 if it is hidden in all of them. Finite numbers give the same
    contexts, but XLA may fuse, and so round, the program around them in another way.
    """
    return _where_seen(mask, x, 0)


def fill_hidden(mask: Mask, key: jax.Array) -> jax.Array:
    """Replace keys [..., S, K] that the mask hides from every query by 1, 1 + 1/K, 1 + 2/K, ...

    As `zero_hidden`, but for a score: 0 has no direction, no logarithm and no inverse, and a score
    that divides by the length of a key has a gradient of NaN there, whatever the weight is.
    """
    width = key.shape[-1]
    return _where_seen(mask, key, 1 + jnp.arange(width, dtype=jnp.result_type(key)) / max(width, 1))


def _where_seen(mask: Mask, x: jax.Array, other: jax.Array | int) -> jax.Array:
    """Return x [..., S, any] with `other` where the mask hides the key from every query."""
    for rule in mask.rules():
        seen = rule.seen_keys()
        if seen is not None:
            own = x.shape[:-1]
            seen = seen.reshape(*[1] * (len(own) - seen.ndim), *seen.shape)
            seen = seen.any(tuple(range(seen.ndim - len(own))))
            shared = tuple(axis for axis, size in enumerate(own) if size == 1)
            x = jnp.where(seen.any(shared, keepdims=True)[..., None], x, other)
    return x
