"""A grid of values that every variant is tuned over before its seeds are trained.

In a fair comparison all variants are tuned in the same way: a learning rate that suits one variant
may not suit another. Each variant is trained at every point of the same grid, with a seed that no
other run has. Its seeds are then trained at the point with the lowest validation loss. Test data
are not used.
"""

from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any

from annotated_types import MinLen

from attnjax.config.vary import vary
from attnjax.config.walk import differences
from attnjax.errors import UserError

type Grid = Mapping[str, Annotated[tuple[float, ...], MinLen(2)]]
"""Values of fields, each field named by its path."""

type Point = Mapping[str, float]
"""A value for each field of a grid."""


def points(grid: Grid) -> list[Point]:
    """All combinations of a grid's values, the last field's varying fastest."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def point_name(point: Point) -> str:
    """The name of a point's folder, such as `optimizer.schedule.peak=0.001`."""
    return ",".join(f"{path}={shortest(value)}" for path, value in point.items())


def shortest(value: float) -> str:
    """A value with at most twelve digits: 0.001 for 1.0e-3."""
    return f"{value:.12g}"


def describe(grid: Grid) -> str:
    """A grid in words."""
    return " and ".join(
        f"{path} of {', '.join(map(shortest, values))}" for path, values in grid.items()
    )


def check_grid(grid: Grid, base: Any, variants: Mapping[str, Any]) -> None:
    """Refuse a grid that not every variant can be tuned over.

    Raises:
        UserError: a value occurs twice, a variant has no such field or does not allow the value, or
            the field defines a variant.
    """
    for path, values in grid.items():
        if "**" in path:
            raise UserError(f"tune: a field is named by its whole path; got {path}")
        if len({shortest(value) for value in values}) < len(values):
            raise UserError(f"tune: {path} has a value twice: {', '.join(map(shortest, values))}")
        for name, variant in variants.items():
            if path in differences(base, variant):
                raise UserError(
                    f"tune: variant {name} is defined by {path}, so that field cannot be tuned"
                )
            for value in values:
                try:
                    vary(variant, {path: value})
                except UserError as error:
                    raise UserError(f"tune, variant {name}: {error}") from error
