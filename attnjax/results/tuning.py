"""The tuning of a variant, read from the runs at the points of its grid."""

import math
from collections.abc import Sequence
from pathlib import Path

from attnjax.experiment.tuning import Grid, Losses, Point, best, extended, point_name, points, tied
from attnjax.reporting.summary import TunedPoint, TuningRow
from attnjax.runs.manifest import CONFIG
from attnjax.runs.result import RunResult
from attnjax.runs.run_folder import result

FOLDER = "tune"
"""The name of the folder of all points, in the variant's folder."""

TIED = "tied"
"""The name of the folder of the seeds' runs at values that are tied with the chosen ones."""


def point_folders(folder: Path, point: Point, seeds: Sequence[int]) -> dict[int, Path]:
    """The folder of each seed's run at a point, in a variant's folder.

    An earlier version of attnjax trained a point with the first seed alone, in the point's folder.
    """
    of_point = folder / FOLDER / point_name(point)
    if (of_point / CONFIG).exists():
        return {seeds[0]: of_point}
    return {seed: of_point / f"seed-{seed}" for seed in seeds}


def tied_folder(folder: Path, point: Point) -> Path:
    """The folder of the seeds' runs at a tied point, in a variant's folder."""
    return folder / TIED / point_name(point)


def losses(folder: Path, grid: Grid, seeds: Sequence[int]) -> Losses:
    """The losses at each point of a grid, in a variant's folder."""
    return [
        seed_losses([result(run, {}) for run in point_folders(folder, point, seeds).values()])
        for point in points(grid)
    ]


def seed_losses(runs: Sequence[RunResult | None]) -> tuple[float, ...] | None:
    """The loss of each run at a point, infinity if it diverged; None: not all are finished."""
    finished = tuple(
        math.inf if run.best_validation_loss is None else run.best_validation_loss
        for run in runs
        if run is not None
    )
    return finished if len(finished) == len(runs) else None


def longer_grid(folder: Path, grid: Grid, tried: Losses) -> Grid:
    """The grid that a choice is made from: longer by a value if the best point lies at its edge.

    It is the grid itself while points are not finished, and where an earlier version of attnjax
    tuned the variant. `tried` has the losses at its points, `folder` is the variant's.
    """
    place = best(tried)
    if place is None or (folder / FOLDER / point_name(points(grid)[place]) / CONFIG).exists():
        return grid
    return extended(grid, points(grid)[place])


def tuning_row(
    folder: Path, variant: str, seeds: Sequence[int], grid: Grid, chosen: Point
) -> TuningRow:
    """The tuning of a variant over the file's grid, for the report; `folder` is the variant's."""
    tried = losses(folder, grid, seeds)
    longer = longer_grid(folder, grid, tried)
    if None not in (more := losses(folder, longer, seeds)):
        grid, tried = longer, more
    several = tied(tried)
    return TuningRow(
        variant=variant,
        seed=seeds[0],
        seeds=tuple(seeds[: max((len(row) for row in tried if row), default=0)]),
        fields=tuple(grid),
        points=tuple(
            TunedPoint(
                values=tuple(point.values()),
                loss=None if row is None else sum(row) / len(row),
                losses=row or (),
                tied=place in several and len(several) > 1,
            )
            for place, (point, row) in enumerate(zip(points(grid), tried, strict=True))
        ),
        chosen=tuple(chosen[path] for path in grid),
    )
