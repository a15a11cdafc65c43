"""The folders of the runs that tune a variant, and the row of its tuning in a report."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from attnjax.experiment.tuning import Grid, Point, choose, point_name, points
from attnjax.lab.results.record import Record, StageName
from attnjax.lab.results.summary import TunedPoint, TuningRow
from attnjax.lab.runs.result import RunResult
from attnjax.lab.runs.run_folder import result

STAGES: dict[StageName, str] = {
    "chosen": "seed-*",
    "tied": "tied/*/seed-*",
    "tuning": "tune/*/seed-*",
}
"""The folders of runs in that of a variant, by what they are for."""


def point_folders(folder: Path, point: Point, seeds: Sequence[int]) -> dict[int, Path]:
    """Return the folder of each seed's run at a point of the grid, in a variant's folder."""
    return {seed: folder / "tune" / point_name(point) / f"seed-{seed}" for seed in seeds}


def tied_folder(folder: Path, point: Point) -> Path:
    """Return the folder of the seeds' runs at a tied point, in a variant's folder."""
    return folder / "tied" / point_name(point)


def seed_losses(runs: Sequence[RunResult | None]) -> tuple[float, ...] | None:
    """Return the loss of each run at a point, infinity if it diverged; None: not all finished."""
    finished = tuple(
        math.inf if run.best_validation_loss is None else run.best_validation_loss
        for run in runs
        if run is not None
    )
    return finished if len(finished) == len(runs) else None


def tuning_row(
    folder: Path, variant: str, seeds: Sequence[int], grid: Grid, chosen: Point
) -> TuningRow:
    """Return the row of a variant that was tuned in `folder`, see `tuned_row`."""

    def losses(point: Point) -> tuple[float, ...] | None:
        return seed_losses(
            [result(run, {}) for run in point_folders(folder, point, seeds).values()]
        )

    return tuned_row(variant, seeds, grid, tuple(chosen[path] for path in grid), losses)


def row_of_records(
    variant: str,
    seeds: Sequence[int],
    grid: Grid,
    chosen: tuple[float, ...],
    runs: Sequence[Record],
) -> TuningRow:
    """Return the row of a variant that these runs tuned, see `tuned_row`."""
    tried: dict[tuple[float, ...], dict[int, float]] = defaultdict(dict)
    for run in runs:
        tried[run.values(tuple(grid))][run.seed] = run.loss

    def losses(point: Point) -> tuple[float, ...] | None:
        there = tried[tuple(point.values())]
        return tuple(there[seed] for seed in seeds) if {*seeds} <= there.keys() else None

    return tuned_row(variant, seeds, grid, chosen, losses)


def tuned_row(
    variant: str,
    seeds: Sequence[int],
    grid: Grid,
    chosen: tuple[float, ...],
    losses: Callable[[Point], tuple[float, ...] | None],
) -> TuningRow:
    """Return the row of a variant: the losses of all seeds at each point, the values chosen.

    The points of a longer grid are in it once they are finished.
    """
    choice = choose(grid, losses, lambda point: losses(point) is not None)
    several = choice.points if len(choice.points) > 1 else ()
    return TuningRow(
        variant=variant,
        seeds=tuple(seeds),
        fields=tuple(grid),
        points=tuple(
            TunedPoint(values=tuple(point.values()), losses=row or (), tied=point in several)
            for point, row in zip(points(choice.grid), choice.losses, strict=True)
        ),
        chosen=chosen,
    )
