"""Tuning: a variant is trained at every point of a grid; the lowest validation loss is chosen.

    <runs>/<experiment>/<variant>/tune/<point>/     a run's folder, see `attnjax.runs.run_folder`

All points have the same seed. Those that differ in the learning rate's schedule alone are trained
together, in one program. The test split is not decoded.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rich.console import Console

from attnjax.config.vary import vary
from attnjax.console import print_line
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import Grid, Point, point_name, points
from attnjax.reporting import evidence
from attnjax.results.tuning import FOLDER, lowest, tuning_row
from attnjax.runs.initial_parameters import source_of
from attnjax.runs.lease import Taken
from attnjax.runs.manifest import Manifest, manifest
from attnjax.runs.run_folder import Verified, check, finished
from attnjax.sweeps.run_points import run_points
from attnjax.training.loop.run_state import Run

SCHEDULE = "optimizer.schedule"
"""The part that may differ between runs of one program."""


@dataclass(frozen=True, kw_only=True)
class Tuner:
    """The tuning of one variant.

    Attributes:
        loaded: the experiment file.
        variant: the variant's name.
        experiment: the variant, with the overrides of the command line.
        grid: the grid that the variant is tuned over; {}: the variant is not tuned.
        folder: the folder of the variant.
        verified: the results of finished runs whose files were hashed, see `run_folder.result`.
    """

    loaded: ExperimentFile
    variant: str
    experiment: Experiment
    grid: Grid
    folder: Path
    verified: Verified

    @property
    def seed(self) -> int:
        """The seed of all points."""
        return self.loaded.ablation.tune_seed

    @cached_property
    def manifests(self) -> dict[Path, Manifest]:
        """The folder of each point, and the manifest of its run."""
        return {
            self.folder / FOLDER / point_name(point): manifest(
                self.loaded, self.variant, self.seed, vary(self.experiment, point)
            )
            for point in points(self.grid)
        }

    def check(self, *, may_lengthen: bool) -> None:
        """Refuse the folder of a point that has another run.

        Raises:
            UserError: as `run_folder.check`.
        """
        for folder, wanted in self.manifests.items():
            check(folder, wanted, self.loaded, may_lengthen=may_lengthen)

    def check_corpus(self, corpus: Corpus) -> None:
        """Refuse a corpus that the variant cannot be tuned on.

        Raises:
            UserError: there are no validation examples, the corpus does not fit the variant, or the
                tuning has no run to take initial parameters from.
        """
        if self.grid and not corpus.splits.get("valid"):
            raise UserError(
                f"{self.variant} cannot be tuned: tuning chooses by the validation loss, and the "
                "corpus has no validation examples"
            )
        scoring = self.experiment.training.scoring
        if self.grid and scoring is not None and scoring.decides == "score":
            raise UserError(
                f"{self.variant} cannot be tuned: tuning chooses by the validation loss, and "
                "training.scoring.decides is score"
            )
        given = self.experiment.initial_parameters_from
        source = source_of(self.experiment, self.seed, self.folder.parent.parent)
        if self.grid and given is not None and source.name == f"seed-{self.seed}":
            raise UserError(
                f"{self.variant} cannot be tuned: it begins with the run of {given} that has its "
                f"own seed, and tuning has the seed {self.seed}; name one run for all seeds, as "
                f"{given}/seed-{self.loaded.ablation.first_seed}"
            )
        # whether a corpus fits does not depend on the schedule; `check_corpus` checks the variant
        schedule = {SCHEDULE: self.experiment.optimizer.schedule}
        varied = {vary(self.experiment, {**point, **schedule}) for point in points(self.grid)}
        for experiment in varied - {self.experiment}:
            experiment.resolve(corpus).recipe.check(corpus)

    def tuned(self) -> Experiment | None:
        """The variant with the chosen values; None: the tuning is not finished.

        Raises:
            UserError: a file of a finished run is missing or damaged.
        """
        chosen = self.chosen() if self.grid else {}
        return None if chosen is None else vary(self.experiment, chosen)

    def chosen(self) -> Point | None:
        """The point with the lowest validation loss, the first one if several have it.

        None: a point is not finished, or the training diverged at every point.

        Raises:
            UserError: a file of a finished run is missing or damaged.
        """
        losses = self._losses
        if len(losses) < len(self.manifests) or min(losses) == math.inf:
            return None
        return points(self.grid)[losses.index(min(losses))]

    @property
    def _losses(self) -> list[float]:
        """The validation loss at each point that is finished; infinity: the training diverged."""
        points = self.manifests.items()
        results = (finished(folder, wanted, self.verified) for folder, wanted in points)
        return [lowest(result) for result in results if result is not None]

    def tune(self, corpus: Corpus, console: Console, title: str) -> Experiment:
        """Train the points that are not finished, and return the variant with the chosen values.

        Raises:
            UserError: the training diverged at every point, or another error that the user can
                correct; nothing that was saved is lost.
            Interrupted: Ctrl-C or a batch system's signal came; calling again resumes.
            Taken: another process trains some of the points; the others are trained.
        """
        taken: list[Taken] = []
        for experiment, runs in self.together(corpus).items():
            unfinished = self._unfinished(runs)
            if not unfinished:
                continue
            try:
                run_points(
                    self.loaded,
                    experiment,
                    runs,
                    unfinished,
                    corpus,
                    self.folder.parent.parent,
                    title=f"{title}, tuning",
                    console=console,
                )
            except Taken as error:
                taken.append(error)
        if taken:
            raise taken[0]
        chosen = self.chosen()
        if chosen is None:
            raise UserError(
                f"{self.variant} cannot be tuned: its training diverged at every point of the "
                "grid; lower learning rates, a longer warm-up or clipping may help"
            )
        row = tuning_row(self.variant, self.seed, self.grid, chosen, self._losses)
        choice = f"{evidence.chosen(row)} ({evidence.losses(row)})"
        print_line(console, f"{self.variant}: tuned to {choice}")
        return vary(self.experiment, chosen)

    def _unfinished(self, runs: list[Run]) -> dict[Path, Manifest]:
        """The folders and manifests of those of the runs that are not finished."""
        return {
            run.folder: wanted
            for run in runs
            if finished(run.folder, wanted := self.manifests[run.folder], self.verified) is None
        }

    def together(self, corpus: Corpus) -> dict[Experiment, list[Run]]:
        """The runs of all points, in groups that differ only in the schedule."""
        groups: dict[Experiment, list[Run]] = defaultdict(list)
        for point, folder in zip(points(self.grid), self.manifests, strict=True):
            experiment = vary(self.experiment, point).resolve(corpus)
            schedule = experiment.optimizer.schedule
            alike = vary(experiment, {SCHEDULE: self.experiment.optimizer.schedule})
            run = Run(folder=folder, seed=self.seed, schedule=schedule, may_diverge=True)
            groups[alike].append(run)
        return groups
