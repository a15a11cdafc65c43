"""Bytes that kernels written in Pallas move, which XLA's text of a program does not say."""

from math import prod
from typing import Any

from jax.extend.core import Literal  # pyright: ignore[reportPrivateImportUsage]

from attnjax.evaluation.flops import total

LANES = 128
"""A TPU keeps the last axis of an array in rows of so many numbers."""


def kernel_bytes(jaxpr: Any) -> int:
    """The most bytes that Pallas kernels read from and write to a TPU's memory.

    A kernel runs once for every point of its grid, in order, and works on a block of each array. A
    block is moved when it changes: at every step along the last axis of the grid that its place
    depends on, and along the axes before that. Blocks that a kernel skips because of a mask count.
    """
    return total(jaxpr, _moved)


def _moved(equation: Any) -> int | None:
    """The bytes of a kernel; None: the equation is none."""
    if equation.primitive.name != "pallas_call":
        return None
    grid = equation.params["grid_mapping"]
    return sum(_block_bytes(block, grid.grid) for block in grid.block_mappings)


def _block_bytes(block: Any, grid: tuple[int, ...]) -> int:
    """The bytes of an array's blocks that are moved."""
    aval = block.transformed_block_aval
    steps = prod(grid[: _last_axis(block.index_map_jaxpr.jaxpr, len(grid)) + 1])
    *rows, columns = aval.shape
    return steps * prod(rows) * (columns + -columns % LANES) * aval.dtype.itemsize


def _last_axis(place: Any, axes: int) -> int:
    """The last axis of the grid that a block's place depends on; -1: it is always the same."""
    depends = {variable: axis for axis, variable in enumerate(place.invars[:axes])}
    for equation in place.eqns:
        places = [depends.get(x, -1) for x in equation.invars if not isinstance(x, Literal)]
        depends.update(dict.fromkeys(equation.outvars, max(places, default=-1)))
    results = [depends.get(x, -1) for x in place.outvars if not isinstance(x, Literal)]
    return max(results, default=-1)
