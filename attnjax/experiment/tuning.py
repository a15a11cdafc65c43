"""A grid of values that every variant is tuned over before its seeds are trained.

A learning rate that suits one variant may not suit another. Each is trained at every point of the
same grid, with a few seeds that no other run has, and its own seeds at the point with the lowest
mean validation loss. If that point lies at the grid's edge, the grid is first made one point longer
there, once. Points that are tied with it are no worse a choice: a claim must hold at each of them,
see `attnjax.experiment.ties`. A point at which a seed fails is not tied with one at which none
does.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Choice:
    """The choice of a point of a grid.

    Attributes:
        grid: the grid, longer by a value if the best of its points lies at its edge.
        losses: those at its points.
        points: the chosen point, then those that are tied with it; []: nothing is chosen while a
            point is not finished, or if the training diverged at every point.
    """

    grid: Grid
    losses: Losses
    points: Sequence[Point]


def choose(
    grid: Grid,
    losses: Callable[[Point], tuple[float, ...] | None],
    allowed: Callable[[Point], bool],
) -> Choice:
    """Choose the point with the lowest mean loss, of the grid or of the longer one.

    `losses` has those of all seeds at a point, None: not all are finished. The grid is not made
    longer by points that are not `allowed`.
    """
    tried = [*map(losses, points(grid))]
    chosen = longer(grid, tried)
    if chosen != grid:
        chosen = chosen if all(map(allowed, points(chosen))) else grid
        tried = [*map(losses, points(chosen))]
    return Choice(chosen, tried, [points(chosen)[place] for place in tied(tried)])


def longer(grid: Grid, losses: Losses) -> Grid:
    """Return the grid, longer by a value if the best of its points is known to lie at its edge."""
    first = best(losses)
    return grid if first is None else extended(grid, points(grid)[first])


def points(grid: Grid) -> list[Point]:
    """Return all combinations of a grid's values, the last field's varying fastest."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def extended(grid: Grid, point: Point) -> Grid:
    """Make the grid one value longer where a point lies at its edge, by the ratio of the two last.

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
    """Return the index of the lowest mean loss, the first if several have it.

    None: a point is not finished, or the training diverged at every point.
    """
    means = [sum(seeds) / len(seeds) for seeds in _finished(losses)]
    lowest = min(means, default=math.inf)
    return None if lowest == math.inf else means.index(lowest)


def _finished(losses: Losses) -> list[tuple[float, ...]]:
    """Return the losses at each point; []: a point is not finished."""
    finished = [seeds for seeds in losses if seeds is not None]
    return finished if len(finished) == len(losses) else []


def tied(losses: Losses) -> list[int]:
    """Return the indices of mean losses within a standard error of the lowest, which comes first.

        mean_s d_s <= sqrt(var_s d_s / S),   d_s = loss of seed s here - its loss at the best point

    A point at which a seed fails is not tied, see `_fails`. Of two equally good points with three
    seeds, 58 % are tied. A factor of 1.6 before the root would tie 75 %, and each tied point costs
    a training of all seeds.

    With one seed nothing is known of the error, and only the lowest is tied with itself. []: there
    is no lowest, see `best`.
    """
    first = best(losses)
    if first is None:
        return []
    finished = _finished(losses)
    lowest = finished[first]
    others = (
        place
        for place, here in enumerate(finished)
        if place != first and _within_an_error(here, lowest) and not _fails(here, lowest)
    )
    return [first, *others]


def _within_an_error(here: Sequence[float], lowest: Sequence[float]) -> bool:
    differences = [own - best for own, best in zip(here, lowest, strict=True)]
    count, mean = len(differences), sum(differences) / len(differences)
    if count < 2 or not math.isfinite(mean):
        return False
    squares = sum((difference - mean) ** 2 for difference in differences)
    return mean <= math.sqrt(squares / (count - 1) / count)


FAR = 10
"""How many times as far as every other seed's a loss lies above the lowest one if a seed fails."""


def _fails(here: Sequence[float], lowest: Sequence[float]) -> bool:
    """Return whether a seed fails at a point, and none does at the best one.

    A seed fails if its loss is not finite, or `FAR` times as far above the lowest loss of both
    points as the loss of every other seed. If the other seeds lost the same at both points, the
    mean of d is its standard error, whatever the number of seeds: rounding would decide.
    """
    worst = max(here)
    others = sorted([*lowest, *here])[:-1]
    least, next_to_worst = others[0], others[-1]
    return worst > next_to_worst and worst - least > FAR * (next_to_worst - least)


def point_name(point: Point) -> str:
    """Return the name of a point's folder, such as `optimizer.schedule.peak=0.001`."""
    return ",".join(f"{path}={shortest(value)}" for path, value in point.items())


def shortest(value: float) -> str:
    """Return a value in at most twelve digits: 0.001 for 1.0e-3."""
    return f"{value:.12g}"


def in_words(values: Sequence[float]) -> str:
    """Return the values at a point in words, one for each tuned field: "0.001 and 0.1"."""
    return " and ".join(map(shortest, values))


def in_a_file_name(values: Sequence[float]) -> str:
    """Return the values at a point as the name of a record's file has them: "0.001-and-0.1"."""
    return "-and-".join(map(shortest, values))


def describe(grid: Grid) -> str:
    """Return a grid in words."""
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
