"""The tuning of a variant, read from the runs at the points of its grid."""

import math
from collections.abc import Sequence
from pathlib import Path

from attnjax.experiment.tuning import Grid, Point, point_name, points
from attnjax.reporting.summary import TunedPoint, TuningRow
from attnjax.runs.result import RunResult
from attnjax.runs.run_folder import result

FOLDER = "tune"
"""The name of the folder of all points, in the variant's folder."""


def losses(folder: Path, grid: Grid) -> list[float | None]:
    """The validation loss at each point of a grid, in a variant's folder.

    Infinity: the training diverged; None: it is not finished.

    Raises:
        UserError: a file of a finished run is missing or damaged.
    """
    runs = (result(folder / FOLDER / point_name(point), {}) for point in points(grid))
    return [None if run is None else lowest(run) for run in runs]


def tuning_row(
    variant: str, seed: int, grid: Grid, chosen: Point, losses: Sequence[float | None]
) -> TuningRow:
    """The tuning of a variant, for the report; `losses` are those at the points of the grid."""
    tried = zip(points(grid), losses, strict=True)
    return TuningRow(
        variant=variant,
        seed=seed,
        fields=tuple(grid),
        points=tuple(TunedPoint(values=tuple(point.values()), loss=loss) for point, loss in tried),
        chosen=tuple(chosen[path] for path in grid),
    )


def lowest(run: RunResult) -> float:
    """The loss that decides; infinity: the training diverged."""
    return math.inf if run.best_validation_loss is None else run.best_validation_loss
