"""The runs that a command asks for, and which of them are finished.

    <runs>/<experiment>/<variant>/tune/<point>/seed-<n>/    a seed at a point of the grid
    <runs>/<experiment>/<variant>/seed-<n>/                 a seed at the chosen point
    <runs>/<experiment>/<variant>/tied/<point>/seed-<n>/    a seed at a point tied with that

Without a grid there is one point, the variant as it is. All three are a `PlannedRun`. The points of
a grid have the same few seeds, and the lowest mean validation loss decides; their test split is not
decoded.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from attnjax.config.override import Override, apply_possible, override
from attnjax.config.serialize import plain, to_json
from attnjax.config.vary import field_at, vary
from attnjax.config.walk import differences
from attnjax.data.corpus import Corpus, Task
from attnjax.errors import UserError
from attnjax.experiment import Ablation, Experiment
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import Grid, Point, choose, points
from attnjax.lab.results.read import read_runs, settings_digest
from attnjax.lab.results.record import Record
from attnjax.lab.results.stand_in import NONE, StandIns, recorded_by, standing_in
from attnjax.lab.results.tuning import point_folders, seed_losses, tied_folder
from attnjax.lab.runs.initial_parameters import source_of
from attnjax.lab.runs.manifest import Manifest, manifest
from attnjax.lab.runs.result import RunResult
from attnjax.lab.runs.run_folder import RunStatus, Verified, finished, status
from attnjax.nn.paths import flat


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A run of a plan: its folder, what it is a run of, and the experiment with its values."""

    folder: Path
    manifest: Manifest
    experiment: Experiment


@dataclass(frozen=True, kw_only=True)
class PlannedVariant:
    """The runs of a variant, as far as the results that are there decide.

    Attributes:
        experiment: the variant, with the overrides of the command line.
        folder: the folder of all its runs.
        tuning: the runs at every point of the grid; []: the variant is not tuned.
        grown: whether the grid is a value longer, because the best of its points is at its edge.
        choice: the point with the lowest mean loss, then those within an error of it. []: a point
            is not finished, or the training diverged at every point. Without a grid the only point
            is the variant as it is.
        seeds: the seeds' runs at the chosen point, or as the variant is until it is chosen.
        tied: the seeds' runs at each point that is tied with the chosen one. Claims are judged at
            those, too; a variant that no claim is about has none.
    """

    plan: "Sweep"
    name: str
    experiment: Experiment
    folder: Path
    tuning: Sequence[PlannedRun]
    grown: bool
    choice: Sequence[Point]
    seeds: Sequence[PlannedRun]
    tied: Sequence[Sequence[PlannedRun]]

    @property
    def judged(self) -> list[PlannedRun]:
        """The runs that claims are judged by: the seeds' at the chosen and at tied points."""
        return [*self.seeds, *(run for runs in self.tied for run in runs)]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The runs of an experiment file that a command asks for.

    Attributes:
        variants: the names of the variants to run; (): all.
        seeds: the number of runs of each variant; None: as many as the file says.
        only: the seeds to run, out of these; (): all.
        together: the most seeds that train together; None: see `division`.
        folder: the folder of the experiment, with all its runs.
        by_workers: whether workers of one command train it, each on a device of its own.
        profiled_steps: the number of steps of each training of which a trace is written.
        records: records of files, those of which that fit stand in for runs.
        corpora: the data of tasks as they are now, which records are compared with.
        verified: the results of finished runs whose files were hashed, see `run_folder.result`.
    """

    loaded: ExperimentFile
    variants: tuple[str, ...]
    seeds: int | None
    only: tuple[int, ...] = ()
    together: int | None = None
    folder: Path
    overrides: tuple[Override, ...]
    by_workers: bool = False
    profiled_steps: int = 0
    records: tuple[Record, ...] = ()
    corpora: Mapping[Task, Corpus] = field(default_factory=dict, compare=False)
    verified: Verified = field(default_factory=dict, compare=False)

    def result(self, run: PlannedRun) -> RunResult | None:
        """Return the result of a run that is finished; None: it is still to be trained.

        This and `record` alone decide whether a run is left.
        """
        return finished(run.folder, run.manifest, self.verified)

    def record(self, run: PlannedRun) -> Record | None:
        """Return the record that stands in for a run; None: it has to be trained.

        A run that another one begins with has to be trained here.
        """
        manifest = run.manifest
        every = flat(manifest.settings) if self.records else {}
        values = {path: every.get(path) for path in manifest.tuned}
        tied = run.folder.parent.name != manifest.variant
        for record in self.stand_ins.of(manifest.variant, manifest.seed, values, tied=tied):
            settings = settings_digest(manifest.settings, manifest.tuned)
            if record.settings == settings and run.folder not in self._beginnings:
                return record
        return None

    @cached_property
    def _beginnings(self) -> set[Path]:
        """The folders of the runs that runs of the sweep begin with."""
        begun = [one for one in self.chosen().values() if one.initial_parameters_from is not None]
        return {source_of(one, seed, self.above) for one in begun for seed in self.all_seeds}

    @cached_property
    def stand_ins(self) -> StandIns:
        """The records that stand in for runs."""
        if not self.records:
            return NONE
        runs, seeds = read_runs(self.folder), self.all_seeds
        return standing_in(self.loaded, self.records, runs, seeds=seeds, corpora=self.corpora)

    def status(self, run: PlannedRun) -> RunStatus:
        """Return the status of a run."""
        if self.result(run) is not None:
            return RunStatus("done")
        if (record := self.record(run)) is not None:
            return RunStatus("recorded", detail=recorded_by([record]))
        return status(run.folder, run.manifest, self.verified)

    def unfinished(self, runs: Iterable[PlannedRun]) -> list[PlannedRun]:
        """Return the runs that are still to be trained."""
        return [run for run in runs if self.result(run) is None and self.record(run) is None]

    def planned(self) -> list[PlannedVariant]:
        """Plan the runs of every variant to run."""
        return [self.variant(name, experiment) for name, experiment in self.chosen().items()]

    def variant(self, name: str, experiment: Experiment) -> PlannedVariant:
        """Plan the runs of a variant: read the results at the points of its grid, and choose."""
        folder, grid, ablation = self.folder / name, self.grid, self.loaded.ablation

        def at(
            point: Point, folders: Mapping[int, Path], tuned: Iterable[str] = ()
        ) -> list[PlannedRun]:
            varied = vary(experiment, point)
            return [
                PlannedRun(
                    folder=run,
                    manifest=manifest(self.loaded, name, seed, varied, tuple(tuned)),
                    experiment=varied,
                )
                for seed, run in folders.items()
            ]

        def tuning(point: Point) -> list[PlannedRun]:
            return at(point, point_folders(folder, point, ablation.tuning_seeds))

        def losses(point: Point) -> tuple[float, ...] | None:
            return seed_losses([self.result(run) for run in tuning(point)])

        def seeds(point: Point, above: Path) -> list[PlannedRun]:
            numbers = self.only or self.all_seeds
            return at(point, {seed: above / f"seed-{seed}" for seed in numbers}, grid)

        longer, tuned, choice = grid, list[Point](), list[Point]([{}])
        if grid:
            chosen = choose(grid, losses, partial(_allows, experiment))
            longer, tuned, choice = chosen.grid, points(chosen.grid), [*chosen.points]
        if not choice and (choice := self._recorded_choice(name, experiment)):
            longer, tuned = grid, []
        of_claims = any(name in claim.variants for claim in ablation.claims)
        others = choice[1:] if of_claims else []
        return PlannedVariant(
            plan=self,
            name=name,
            experiment=experiment,
            folder=folder,
            tuning=[run for point in tuned for run in tuning(point)],
            grown=longer != grid,
            choice=choice,
            seeds=seeds(next(iter(choice), {}), folder),
            tied=[seeds(point, tied_folder(folder, point)) for point in others],
        )

    def _recorded_choice(self, name: str, experiment: Experiment) -> list[Point]:
        """Return the values that the records of a variant were tuned to; []: it is to be tuned."""
        paths = tuple(self.loaded.ablation.tune)
        settings, of_file = (
            settings_digest(to_json(one, self.loaded.own), paths)
            for one in (experiment, self.loaded.ablation.variants[name])
        )
        known = settings == of_file and tuple(self.grid) == paths
        return [*self.stand_ins.points.get(name, ())] if known else []

    def chosen(self) -> dict[str, Experiment]:
        """Return the variants to run by name, with the overrides applied."""
        ablation, seeds = self.loaded.ablation, self.all_seeds
        if unknown := [seed for seed in self.only if seed not in seeds]:
            raise UserError(
                f"there is no seed {unknown[0]}: each variant has the seeds {seeds[0]} to "
                f"{seeds[-1]}; --seeds gives it more"
            )
        names = self.variants or ablation.variants
        chosen = _overridden({name: ablation.variant(name) for name in names}, self.overrides)
        _check_defined(ablation, chosen, self.overrides)
        return chosen

    @cached_property
    def all_seeds(self) -> range:
        """The seeds of each variant's runs."""
        first = self.loaded.ablation.first_seed
        count = self.loaded.ablation.seeds if self.seeds is None else self.seeds
        return range(first, first + count)

    @cached_property
    def above(self) -> Path:
        """The folder of all experiments' runs."""
        return self.folder.parent

    @cached_property
    def grid(self) -> Grid:
        """The grid that variants are tuned over: the file's grid without overridden fields.

        Overriding a part overrides all of its fields.
        """
        given = tuple(wanted.path for wanted in self.overrides)
        return {
            path: values
            for path, values in self.loaded.ablation.tune.items()
            if not any(f"{path}.".startswith(f"{over}.") for over in given)
        }


def _overridden(
    variants: Mapping[str, Experiment], overrides: Sequence[Override]
) -> dict[str, Experiment]:
    """Apply overrides to variants; whether they undo what defines one is checked by the plan."""
    made, refused = dict[str, Experiment](), dict[str, UserError]()
    for name, before in variants.items():
        try:
            made[name] = override(before, overrides)
        except UserError as error:
            refused[name] = error
    if not refused:
        return made
    first = next(iter(refused.values()))
    alike = [name for name, error in refused.items() if str(error) == str(first)]
    if len(alike) == len(variants):
        raise first
    raise UserError(
        f"{first}, in {', '.join(alike)}; leave these out by naming others with --variant"
    )


def chosen_parts(plan: Sweep) -> list[str]:
    """Return a sentence for each part that the command line chooses, with its fields."""
    variants: dict[str, list[str]] = {}
    for name, experiment in plan.chosen().items():
        for wanted in plan.overrides:
            if wanted.choice:
                part = to_json(field_at(experiment, wanted.path)[1], plan.loaded.own)
                variants.setdefault(f"{wanted.path} is {plain(part)}", []).append(name)
    all_of_them = [*(plan.variants or plan.loaded.ablation.variants)]
    return [
        choice if names == all_of_them else f"{choice}, in {', '.join(names)}"
        for choice, names in variants.items()
    ]


def _check_defined(
    ablation: Ablation, chosen: Mapping[str, Experiment], overrides: Sequence[Override]
) -> None:
    """Refuse overrides that undo what defines a variant."""
    # overrides that only a variant's parts have are left out here
    base, _ = apply_possible(ablation.base, overrides)
    for name, after in chosen.items():
        before = ablation.variants[name]
        undone = set(differences(ablation.base, before)) - set(differences(base, after))
        if undone:
            raise UserError(
                f"an override conflicts with variant {name}, which is defined by "
                f"{min(undone)}; leave {name} out by naming others with --variant"
            )


def _allows(experiment: Experiment, point: Point) -> bool:
    """Return whether the fields of an experiment allow the values of a point."""
    try:
        vary(experiment, point)
    except UserError:
        return False
    return True
