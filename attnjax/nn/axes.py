"""The named axes that a program may be mapped over, and the lengths of an array's axes."""

from typing import Any

import jax
from jax import lax

from attnjax.errors import UserError

DATA = "data"
"""The devices, each with its part of the batch."""

HEADS = "heads"
"""The heads of an attention."""


def head_number() -> tuple[Any, int]:
    """Return the number of the head that is computed, from 0, and of all heads; 0 and 1 outside."""
    return (lax.axis_index(HEADS), lax.axis_size(HEADS)) if inside(HEADS) else (0, 1)


def inside(axis: str) -> bool:
    """Return whether the traced function is mapped over the axis; if not, there is one part."""
    try:
        lax.axis_size(axis)
    except NameError:
        return False
    return True


def varying_as[T](start: T, inputs: Any) -> T:
    """Return the arrays that a scan begins with, marked as the inputs are that it reads.

    Within `jax.shard_map` an array is marked with the axes along which devices may differ; a scan
    wants the same marks before and after a step.
    """
    axes = frozenset[str]().union(*map(_varying_axes, jax.tree.leaves(inputs)))

    def mark(x: jax.Array) -> jax.Array:
        missing = tuple(sorted(axes - _varying_axes(x)))
        return lax.pcast(x, missing, to="varying") if missing else x

    return jax.tree.map(mark, start)


def _varying_axes(x: Any) -> frozenset[str]:
    kind: Any = jax.typeof(x)
    return kind.vma if hasattr(kind, "vma") else kind.mat.varying  # before JAX 0.12, and since


def explicit_axes(x: Any) -> tuple[Any, ...] | None:
    """Return which axes of an explicit mesh each axis of an array is divided by; None: by none.

    In a mesh with axes of the type `jax.sharding.AxisType.Explicit` they belong to an array's type.
    """
    sharding: Any = jax.typeof(x).sharding
    spec = tuple(sharding.spec)
    return (*spec, *[None] * (x.ndim - len(spec))) if any(spec) else None


def smaller_length(first: Any, second: Any) -> int:
    """Return the smaller of two lengths; 0 if `jax.export` was given a symbol for one."""
    return min(first, second) if isinstance(first, int) and isinstance(second, int) else 0


def known_length(length: Any, owner: str) -> int:
    """Return a length, or refuse a symbol for it, such as `jax.export` takes, in its owner's name.

    Raises:
        UserError: the length is a symbol.
    """
    if not isinstance(length, int):
        raise UserError(
            f"{owner} wants a number of words that is known before compiling; got the symbol "
            f"{length}: export it for one length, padded; only the batch may be a symbol"
        )
    return length
