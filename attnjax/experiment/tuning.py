"""A grid of values that every variant is tuned over before its seeds are trained.

A learning rate that suits one variant may not suit another. Each is trained at every point of the
same grid, with a few seeds that no other run has, and its own seeds at the point with the lowest
mean validation loss. If that point lies at the grid's edge, the grid is first made one point longer
there, once. Points that are tied with it are no worse a choice: a claim must hold at each of them,
see `attnjax.experiment.ties`.
"""

import math
from collections.abc import Mapping, Sequence
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

type Losses = Sequence[tuple[float, ...] | None]
"""The validation loss of each seed at each point; infinity: diverged; None: not all finished."""


def points(grid: Grid) -> list[Point]:
    """All combinations of a grid's values, the last field's varying fastest."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def extended(grid: Grid, point: Point) -> Grid:
    """The grid, one value longer where a point lies at its edge, by the ratio of the two last.

    A field with a value that is not positive keeps its values.
    """
    return {path: _extended(values, point[path]) for path, values in grid.items()}


def _extended(values: tuple[float, ...], value: float) -> tuple[float, ...]:
    ordered = sorted(values)
    if ordered[0] <= 0 or value not in (ordered[0], ordered[-1]):
        return values
    end, next_to_it = ordered[:2] if value == ordered[0] else ordered[:-3:-1]
    beyond = float(shortest(end * end / next_to_it))
    return (beyond, *values) if value == values[0] else (*values, beyond)


def best(losses: Losses) -> int | None:
    """The place of the lowest mean loss, the first if several have it.

    None: a point is not finished, or the training diverged at every point.
    """
    means = [sum(seeds) / len(seeds) for seeds in _finished(losses)]
    lowest = min(means, default=math.inf)
    return None if lowest == math.inf else means.index(lowest)


def _finished(losses: Losses) -> list[tuple[float, ...]]:
    """The losses at each point; []: a point is not finished."""
    finished = [seeds for seeds in losses if seeds is not None]
    return finished if len(finished) == len(losses) else []


def tied(losses: Losses) -> list[int]:
    """The places whose mean loss is within one standard error of the lowest, which comes first.

        mean_s d_s <= sqrt(var_s d_s / S),   d_s = loss of seed s here - its loss at the best place

    With one seed nothing is known of the error, and only the lowest is tied with itself. []: there
    is no lowest, see `best`.
    """
    first = best(losses)
    if first is None:
        return []
    finished = _finished(losses)
    others = (
        place
        for place, here in enumerate(finished)
        if place != first and _within_an_error(here, finished[first])
    )
    return [first, *others]


def _within_an_error(here: Sequence[float], lowest: Sequence[float]) -> bool:
    more = [own - best for own, best in zip(here, lowest, strict=True)]
    count, mean = len(more), sum(more) / len(more)
    if count < 2 or not math.isfinite(mean):
        return False
    return mean <= math.sqrt(sum((each - mean) ** 2 for each in more) / (count - 1) / count)


def point_name(point: Point) -> str:
    """The name of a point's folder, such as `optimizer.schedule.peak=0.001`."""
    return ",".join(f"{path}={shortest(value)}" for path, value in point.items())


def shortest(value: float) -> str:
    """A value in at most twelve digits: 0.001 for 1.0e-3."""
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
