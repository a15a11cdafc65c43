"""Whether the arrays of a mask fit the queries and keys of a call."""

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
