"""The named axes that a program may be mapped over, and the lengths of an array's axes."""

from typing import Any

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
