"""The named axes that a program may be mapped over."""

from jax import lax

DATA = "data"
"""The devices, each with its part of the batch."""

HEADS = "heads"
"""The heads of an attention."""


def inside(axis: str) -> bool:
    """Return whether the traced function is mapped over the axis; if not, there is one part."""
    try:
        lax.axis_size(axis)
    except NameError:
        return False
    return True
