"""The named axes that a program may be mapped over."""

from typing import Any

from jax import lax

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
