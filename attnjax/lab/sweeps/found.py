"""What is there of a plan: results of its runs, records that stand in for them, and the choice.

The points of a grid have the same few seeds, and the lowest mean validation loss decides; their
test split is not decoded. A file is read once, until `forget` is told that it may have changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from attnjax.config.vary import vary
from attnjax.data.corpus import Corpus, Task
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.experiment.tuning import Point, choose, points
from attnjax.lab.results.read import read_runs, settings_digest
from attnjax.lab.results.record import Record
from attnjax.lab.results.stand_in import NONE, StandIns, recorded_by, standing_in
from attnjax.lab.results.tuning import seed_losses
from attnjax.lab.runs.initial_parameters import source_of
from attnjax.lab.runs.result import RESULT, RunResult
from attnjax.lab.runs.run_folder import RunStatus, Verified, finished, unfinished_status
from attnjax.lab.sweeps.plan import Plan, RunSpec, VariantPlan
from attnjax.lab.sweeps.request import Request


@dataclass(frozen=True, kw_only=True)
class VariantRuns:
    """The runs of a variant, as far as the results that are there decide.

    Attributes:
        tuning: the runs at every point of the grid; []: the variant is not tuned.
        grown: whether the grid is a value longer, because the best of its points is at its edge.
        choice: the point with the lowest mean loss, then those within an error of it. []: a point
            is not finished, or the training diverged at every point. Without a grid the only point
            is the variant as it is.
        seeds: the seeds' runs at the chosen point, or as the variant is until it is chosen.
        tied: the seeds' runs at each point that is tied with the chosen one. Claims are judged at
            those, too; a variant that no claim is about has none.
    """

    variant: VariantPlan
    tuning: Sequence[RunSpec]
    grown: bool
    choice: Sequence[Point]
    seeds: Sequence[RunSpec]
    tied: Sequence[Sequence[RunSpec]]

    @property
    def request(self) -> Request:
        return self.variant.request

    @property
    def name(self) -> str:
        return self.variant.name

    @property
    def folder(self) -> Path:
        return self.variant.folder

    @property
    def experiment(self) -> Experiment:
        return self.variant.experiment

    @property
    def judged(self) -> list[RunSpec]:
        """The runs that claims are judged by: the seeds' at the chosen and at tied points."""
        return [*self.seeds, *(run for runs in self.tied for run in runs)]


class Found:
    """The results and records of a plan's runs, by which alone it is decided what is left."""

    def __init__(self, plan: Plan, corpora: Mapping[Task, Corpus] | None = None) -> None:
        """Begin without having read anything; records are compared with the `corpora`."""
        self.plan, self.request = plan, plan.request
        self._corpora = corpora or {}
        self._results: dict[Path, RunResult | None] = {}
        self._runs: dict[str, VariantRuns] = {}
        self._verified: Verified = {}

    def forget(self, folders: Iterable[Path]) -> None:
        """Read the results of runs again when they are asked for."""
        self._runs.clear()  # the results decided which they are
        for folder in folders:
            self._results.pop(folder, None)

    def forget_missing(self) -> None:
        """Look again for results that were not there: another process may have written them."""
        self.forget([folder for folder, result in self._results.items() if result is None])

    def result(self, run: RunSpec) -> RunResult | None:
        """Return the result of a run that is finished; None: it is still to be trained.

        This and `record` alone decide whether a run is left.
        """
        folder = run.folder
        if folder not in self._results:
            there = (folder / RESULT).exists()  # else its settings need not be made
            found = finished(folder, run.manifest, self._verified) if there else None
            self._results[folder] = found
        return self._results[folder]

    def record(self, run: RunSpec) -> Record | None:
        """Return the record that stands in for a run; None: it has to be trained.

        A run that another one begins with has to be trained here.
        """
        if not self.request.records:
            return None
        variant, tied = run.at.variant, run.folder.parent.name != run.at.variant.name
        for record in self.stand_ins.of(variant.name, run.seed, run.at.values, tied=tied):
            if record.settings == variant.digest and run.folder not in self._beginnings:
                return record
        return None

    @cached_property
    def _beginnings(self) -> set[Path]:
        """The folders of the runs that runs of the plan begin with."""
        begun = [
            variant.experiment
            for variant in self.plan.variants.values()
            if variant.experiment.initial_parameters_from is not None
        ]
        request = self.request
        return {source_of(one, seed, request.above) for one in begun for seed in request.all_seeds}

    @cached_property
    def stand_ins(self) -> StandIns:
        """The records that stand in for runs."""
        request = self.request
        if not request.records:
            return NONE
        runs, seeds = read_runs(request.folder), request.all_seeds
        return standing_in(
            request.loaded, request.records, runs, seeds=seeds, corpora=self._corpora
        )

    def status(self, run: RunSpec) -> RunStatus:
        """Return the status of a run."""
        if self.result(run) is not None:
            return RunStatus("done")
        if (record := self.record(run)) is not None:
            return RunStatus("recorded", detail=recorded_by([record]))
        return unfinished_status(run.folder)

    def unfinished(self, runs: Iterable[RunSpec]) -> list[RunSpec]:
        """Return the runs that are still to be trained."""
        return [run for run in runs if self.result(run) is None and self.record(run) is None]

    def variants(self) -> list[VariantRuns]:
        """Return the runs of every variant to run."""
        return [*map(self.of, self.plan.variants.values())]

    def of(self, variant: VariantPlan) -> VariantRuns:
        """Return the runs of a variant, at the point that its results or records choose."""
        if variant.name not in self._runs:
            self._runs[variant.name] = self._chosen(variant)
        return self._runs[variant.name]

    def _chosen(self, variant: VariantPlan) -> VariantRuns:
        grid, ablation = self.request.grid, self.request.loaded.ablation

        def losses(point: Point) -> tuple[float, ...] | None:
            return seed_losses([self.result(run) for run in variant.tuning(point)])

        def allowed(point: Point) -> bool:
            try:
                vary(variant.experiment, point)
            except UserError:
                return False
            return True

        longer, tuned, choice = grid, list[Point](), list[Point]([{}])
        if grid:
            chosen = choose(grid, losses, allowed)
            longer, tuned, choice = chosen.grid, points(chosen.grid), [*chosen.points]
        if not choice and (choice := self._recorded_choice(variant)):
            longer, tuned = grid, []
        of_claims = any(variant.name in claim.variants for claim in ablation.claims)
        return VariantRuns(
            variant=variant,
            tuning=[run for point in tuned for run in variant.tuning(point)],
            grown=longer != grid,
            choice=choice,
            seeds=variant.seeds(next(iter(choice), {})),
            tied=[variant.tied(point) for point in choice[1:]] if of_claims else [],
        )

    def _recorded_choice(self, variant: VariantPlan) -> list[Point]:
        """Return the values that the records of a variant were tuned to; []: it is to be tuned."""
        loaded, grid = self.request.loaded, self.request.grid
        found, paths = self.stand_ins.points.get(variant.name, ()), tuple(loaded.ablation.tune)
        if not found or tuple(grid) != paths:
            return []
        of_file = settings_digest(loaded.settings[variant.name], paths)
        return [*found] if variant.digest == of_file else []
