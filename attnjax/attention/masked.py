"""A mask and the arrays of a call: whether they fit, and what stands in place of hidden keys."""

import jax
import jax.numpy as jnp

from attnjax.attention.mask import DenseMask, Mask, Padding
from attnjax.errors import UserError


def check_mask(mask: Mask, query: jax.Array, key: jax.Array) -> None:
    """Refuse a mask whose arrays do not fit queries [..., T, K] and keys [..., S, K].

    Raises:
        UserError: an array is of another length or batch, or a `Padding` has no booleans.
    """
    lengths = {"query": query.shape[-2], "key": key.shape[-2]}
    for rule in mask.rules():
        if isinstance(rule, Padding):
            check_booleans(rule)
        for x, axes in rule.arrays():
            shape = jnp.shape(x)
            leading, own = shape[: -len(axes)], shape[-len(axes) :]
            sizes = zip(own, axes, strict=False)
            fits = len(own) == len(axes) and all(n in (1, lengths[axis]) for n, axis in sizes)
            if not (fits and _broadcast(leading, query.shape[:-2], key.shape[:-2])):
                letters = ", ".join("T" if axis == "query" else "S" for axis in axes)
                instead = ": is it Padding(array)?" if isinstance(rule, DenseMask) else ""
                raise UserError(
                    f"the mask {type(rule).__name__} wants an array [..., {letters}] for queries "
                    f"{list(query.shape)} and keys {list(key.shape)}; got {list(shape)}{instead}"
                )


def check_booleans(rule: Padding) -> None:
    """Refuse numbers, which are true but for 0: they may be lengths."""
    dtype = jnp.result_type(rule.present)
    if dtype != jnp.bool_:
        raise UserError(
            f"Padding wants booleans [..., S], True = a real key; got {dtype} "
            f"{list(jnp.shape(rule.present))}: of lengths, give Padding.of(lengths, S)"
        )


def _broadcast(*shapes: tuple[int, ...]) -> bool:
    """Return whether shapes broadcast to one."""
    try:
        jnp.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


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
