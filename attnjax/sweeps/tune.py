"""Tuning: a variant is trained at every point of a grid; the lowest validation loss is chosen.

    <runs>/<experiment>/<variant>/tune/<point>/seed-<n>/    see `attnjax.runs.run_folder`

All points have the same few seeds, and the mean loss decides. Runs that differ in the seed and the
learning rate's schedule alone are trained together, in one program. The test split is not decoded.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from attnjax.config.vary import vary
from attnjax.console import print_line
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import Grid, Point, best, points, tied
from attnjax.reporting import evidence
from attnjax.results.tuning import (
    Losses,
    longer_grid,
    point_folders,
    seed_losses,
    tuning_row,
)
from attnjax.runs.initial_parameters import source_of
from attnjax.runs.lease import Taken
from attnjax.runs.manifest import Manifest, manifest
from attnjax.runs.run_folder import Verified, check, finished, unfinished
from attnjax.sweeps.run_points import run_points
from attnjax.training.loop.run_state import Run

SCHEDULE = "optimizer.schedule"
"""The part that may differ between runs of one program."""


@dataclass(frozen=True, kw_only=True)
class Tuner:
    """The tuning of one variant.

    Attributes:
        experiment: the variant, with the overrides of the command line.
        grid: the grid that the variant is tuned over; {}: the variant is not tuned.
        verified: the results of finished runs whose files were hashed, see `run_folder.result`.
    """

    loaded: ExperimentFile
    variant: str
    experiment: Experiment
    grid: Grid
    folder: Path
    verified: Verified

    @property
    def seeds(self) -> range:
        """The seeds of the runs at each point."""
        return self.loaded.ablation.tuning_seeds

    @property
    def longer(self) -> Grid:
        """The grid, longer by a value once the best of its points is known to lie at its edge."""
        grid = longer_grid(self.folder, self.grid, self._losses(self.grid))
        try:
            for point in points(grid):
                vary(self.experiment, point)
        except UserError:  # the field does not allow the value
            return self.grid
        return grid

    @property
    def manifests(self) -> dict[Path, Manifest]:
        """The folder of each seed at each point, and the manifest of its run."""
        return {
            folder: wanted
            for point in points(self.longer)
            for folder, wanted in self._runs(point).items()
        }

    def _runs(self, point: Point) -> dict[Path, Manifest]:
        experiment = vary(self.experiment, point)
        return {
            folder: manifest(self.loaded, self.variant, seed, experiment)
            for seed, folder in point_folders(self.folder, point, self.seeds).items()
        }

    def check(self, *, may_lengthen: bool) -> None:
        """Refuse the folder of a point that has another run."""
        for folder, wanted in self.manifests.items():
            check(folder, wanted, self.loaded, may_lengthen=may_lengthen)

    def tuned(self) -> Experiment | None:
        """The variant with the chosen values; None: the tuning is not finished."""
        chosen = self.best()[:1] if self.grid else [{}]
        return vary(self.experiment, chosen[0]) if chosen else None

    def best(self) -> list[Point]:
        """The point with the lowest mean validation loss, then those within an error of it.

        []: a point is not finished, or the training diverged at every point.
        """
        grid = points(self.longer)
        tried = [seeds for seeds in self._losses(self.longer) if seeds is not None]
        place = best(tried) if len(tried) == len(grid) else None
        if place is None:
            return []
        return [grid[place], *(grid[other] for other in tied(tried) if other != place)]

    def _losses(self, grid: Grid) -> Losses:
        return [
            seed_losses([finished(*run, self.verified) for run in self._runs(point).items()])
            for point in points(grid)
        ]

    def tune(self, corpus: Corpus, console: Console, title: str) -> Experiment:
        """Train the points that are not finished, and return the variant with the chosen values.

        Raises:
            UserError: the training diverged at every point, or another error that the user can
                correct; nothing that was saved is lost.
            Interrupted: Ctrl-C or a batch system's signal came; calling again resumes.
            Taken: another process trains some of the points; the others are trained.
        """
        self._train(corpus, console, title)
        if len(points(self.longer)) > len(points(self.grid)):
            print_line(console, f"{self.variant}: the best lies at the grid's edge; one value more")
            self._train(corpus, console, title)
        if not (chosen := self.best()[:1]):
            raise UserError(
                f"{self.variant} cannot be tuned: its training diverged at every point of the "
                "grid; lower learning rates, a longer warm-up or clipping may help"
            )
        row = tuning_row(self.folder, self.variant, self.seeds, self.grid, *chosen)
        choice = f"{evidence.chosen(row)} ({evidence.losses(row)})"
        print_line(console, f"{self.variant}: tuned to {choice}")
        return vary(self.experiment, *chosen)

    def _train(self, corpus: Corpus, console: Console, title: str) -> None:
        """Train the runs of the grid, as it is now, that are not finished."""
        taken, left = list[Taken](), unfinished(self.manifests, self.verified)
        for experiment, runs in self.together(corpus).items():
            # a finished run is left alone: training it along would change its files
            runs = [run for run in runs if run.folder in left]
            if not runs:
                continue
            try:
                run_points(
                    self.loaded,
                    experiment,
                    runs,
                    {run.folder: left[run.folder] for run in runs},
                    corpus,
                    self.folder.parent.parent,
                    title=f"{title}, tuning",
                    console=console,
                )
            except Taken as error:
                taken.append(error)
        if taken:
            raise taken[0]

    def together(self, corpus: Corpus) -> dict[Experiment, list[Run]]:
        """The runs of the grid's points, or of those by which it was made longer.

        They are in groups that differ only in the seed and the schedule.
        """
        groups: dict[Experiment, list[Run]] = defaultdict(list)
        grid = points(self.grid)
        for point in [point for point in points(self.longer) if point not in grid] or grid:
            experiment = vary(self.experiment, point).resolve(corpus)
            schedule = experiment.optimizer.schedule
            alike = vary(experiment, {SCHEDULE: self.experiment.optimizer.schedule})
            groups[alike] += [
                Run(folder=folder, seed=wanted.seed, schedule=schedule, may_diverge=True)
                for folder, wanted in self._runs(point).items()
            ]
        return groups


def check_tuning(tuner: Tuner, corpus: Corpus) -> None:
    """Refuse a corpus that the variant cannot be tuned on."""
    if tuner.grid and not corpus.splits.get("valid"):
        raise UserError(
            f"{tuner.variant} cannot be tuned: tuning chooses by the validation loss, and the "
            "corpus has no validation examples"
        )
    scoring = tuner.experiment.training.scoring
    if tuner.grid and scoring is not None and scoring.decides == "score":
        raise UserError(
            f"{tuner.variant} cannot be tuned: tuning chooses by the validation loss, and "
            "training.scoring.decides is score"
        )
    given = tuner.experiment.initial_parameters_from
    seed = tuner.seeds[0]
    source = source_of(tuner.experiment, seed, tuner.folder.parent.parent)
    if tuner.grid and given is not None and source.name == f"seed-{seed}":
        raise UserError(
            f"{tuner.variant} cannot be tuned: it begins with the run of {given} that has its "
            f"own seed, and tuning has the seed {seed}; name one run for all seeds, as "
            f"{given}/seed-{tuner.loaded.ablation.first_seed}"
        )
    # whether a corpus fits does not depend on the schedule; `plan.check_corpus` checks the variant
    schedule = {SCHEDULE: tuner.experiment.optimizer.schedule}
    varied = {vary(tuner.experiment, {**point, **schedule}) for point in points(tuner.grid)}
    for experiment in varied - {tuner.experiment}:
        experiment.resolve(corpus).recipe.check(corpus)
