"""Tuning: a variant is trained at every point of a grid; the lowest validation loss is chosen.

    <runs>/<experiment>/<variant>/tune/<point>/seed-<n>/    see `attnjax.runs.run_folder`

All points have the same few seeds, and the mean loss decides. Runs that differ in the seed and the
learning rate's schedule alone are trained together, in one program. The test split is not decoded.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from attnjax.config.vary import vary
from attnjax.console import print_line
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.experiment.tuning import Grid, Losses, Point, longer, points, tied
from attnjax.reporting import evidence
from attnjax.results.tuning import point_folders, seed_losses, tuning_row
from attnjax.runs.lease import Taken, leased
from attnjax.runs.manifest import Manifest, manifest
from attnjax.runs.result import RunResult
from attnjax.runs.run_folder import finished, write_result
from attnjax.sweeps.plan import Sweep
from attnjax.sweeps.train_group import Trainable, train_group
from attnjax.training.loop.run_state import Run

SCHEDULE = "optimizer.schedule"
"""The part that may differ between runs of one program."""


@dataclass(frozen=True)
class Tuner:
    """The tuning of one variant over the plan's grid; without a grid the variant is not tuned.

    Attributes:
        experiment: the variant, with the overrides of the command line.
    """

    plan: Sweep
    variant: str
    experiment: Experiment

    @property
    def folder(self) -> Path:
        """The folder of all runs of the variant."""
        return self.plan.folder / self.variant

    @property
    def seeds(self) -> range:
        """The seeds of the runs at each point."""
        return self.plan.loaded.ablation.tuning_seeds

    @property
    def longer(self) -> Grid:
        """The grid, longer by a value once the best of its points is known to lie at its edge."""
        grid = longer(self.plan.grid, self._losses(self.plan.grid))
        try:
            for point in points(grid):
                vary(self.experiment, point)
        except UserError:  # the field does not allow the value
            return self.plan.grid
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
            folder: manifest(self.plan.loaded, self.variant, seed, experiment)
            for seed, folder in point_folders(self.folder, point, self.seeds).items()
        }

    def tuned(self) -> Experiment | None:
        """The variant with the chosen values; None: the tuning is not finished."""
        chosen = self.best()[:1]
        return vary(self.experiment, *chosen) if chosen else None

    def best(self) -> list[Point]:
        """The point with the lowest mean validation loss, then those within an error of it.

        []: a point is not finished, or the training diverged at every point. Without a grid the
        only point is the variant as it is.
        """
        if not self.plan.grid:
            return [{}]
        grid = self.longer
        return [points(grid)[place] for place in tied(self._losses(grid))]

    def tied(self) -> list[tuple[Experiment, dict[Path, Manifest]]]:
        """The variant at values that are tied with the chosen ones, and its runs there.

        Claims are judged at those, too; a variant that no claim is about has none.
        """
        claims = self.plan.loaded.ablation.claims
        if not any(self.variant in claim.variants for claim in claims):
            return []
        varied = [(vary(self.experiment, point), point) for point in self.best()[1:]]
        return [(each, self.plan.runs(self.variant, each, point)) for each, point in varied]

    def _losses(self, grid: Grid) -> Losses:
        verified = self.plan.verified
        return [
            seed_losses([finished(*run, verified) for run in self._runs(point).items()])
            for point in points(grid)
        ]

    def tune(self, corpus: Corpus, console: Console, title: str) -> Experiment:
        """Train the points that are not finished, and return the variant with the chosen values.

        Raises:
            Taken: another process trains some of the points; the others are trained.
        """
        self._train(corpus, console, title)
        if len(points(self.longer)) > len(points(self.plan.grid)):
            print_line(console, f"{self.variant}: the best lies at the grid's edge; one value more")
            self._train(corpus, console, title)
        if not (chosen := self.best()[:1]):
            raise UserError(
                f"{self.variant} cannot be tuned: its training diverged at every point of the "
                "grid; lower learning rates, a longer warm-up or clipping may help"
            )
        row = tuning_row(self.folder, self.variant, self.seeds, self.plan.grid, *chosen)
        choice = f"{evidence.chosen(row)} ({evidence.losses(row)})"
        print_line(console, f"{self.variant}: tuned to {choice}")
        return vary(self.experiment, *chosen)

    def _train(self, corpus: Corpus, console: Console, title: str) -> None:
        """Train the runs of the grid, as it is now, that are not finished; nothing is decoded."""
        taken = list[Taken]()
        for experiment, runs in self.together(corpus).items():
            try:
                with leased([run.folder for run in runs]) as leases:
                    _, outcomes = train_group(
                        self.plan,
                        Trainable(experiment, corpus),
                        runs,
                        leases,
                        title=f"{title}, tuning",
                        console=console,
                    )
                    for (run, wanted), outcome in zip(runs.items(), outcomes, strict=True):
                        write_result(run.folder, RunResult.of(outcome, wanted))
            except Taken as error:
                taken.append(error)
        if taken:
            raise taken[0]

    def together(self, corpus: Corpus) -> dict[Experiment, dict[Run, Manifest]]:
        """The runs that are not finished, in groups that differ only in the seed and the schedule.

        A finished run is left alone: training it along would change its files.
        """
        groups: dict[Experiment, dict[Run, Manifest]] = defaultdict(dict)
        names = tuple(f"seed-{seed}" for seed in self.seeds)
        for point in points(self.longer):
            experiment = vary(self.experiment, point).resolve(corpus)
            schedule = experiment.optimizer.schedule
            # scored in no process: the lowest loss is chosen
            same = {SCHEDULE: self.experiment.optimizer.schedule, "training.scoring": None}
            alike = vary(experiment, same)
            for folder, wanted in self.plan.unfinished(self._runs(point)).items():
                run = Run(folder=folder, seed=wanted.seed, schedule=schedule, may_diverge=True)
                groups[alike][run] = replace(wanted, together=names)
        return groups
