"""Which runs of a variant train together, in one program."""

from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import jax

from attnjax.config.vary import vary
from attnjax.data.batching import Batching
from attnjax.data.corpus import Corpus, Task
from attnjax.data.loaded import Corpora
from attnjax.errors import UserError
from attnjax.evaluation.training_cost import TrainingCost
from attnjax.experiment import Experiment
from attnjax.runs.manifest import read
from attnjax.runs.provenance import Code
from attnjax.runs.run_folder import has_progress
from attnjax.sweeps.costs import costs
from attnjax.sweeps.plan import PlannedRun, PlannedVariant
from attnjax.training.devices.memory import free_memory, seed_memory
from attnjax.training.loop.run_state import TrainResult
from attnjax.training.train_setup import TrainSetup

SCHEDULE = "optimizer.schedule"
"""The part that may differ between runs of one program."""

ALONE = 3e9
"""The FLOPs of an update above which seeds gain nothing together on a CPU.

A Transformer of width 64 with 512 tokens a seed takes fewer, and gains; one of width 128 with 1,024
takes more. It is fixed, not measured at every start, so that equal commands make equal programs.
"""


@dataclass(frozen=True)
class Trainable:
    """A resolved experiment with its data, cut into batches."""

    experiment: Experiment
    data: Corpus
    setup: TrainSetup

    @cached_property
    def cost(self) -> TrainingCost:
        """The cost of a run."""
        return costs(self.setup.recipe, self.data, self.setup.plan).training


class Trainables:
    """Experiments with their data, each resolved once.

    Batches are made once for all experiments that cut the same data alike; those of the latest
    data alone are held.
    """

    def __init__(self, corpora: Corpora) -> None:
        self._corpora = corpora
        self._cut: tuple[Task, Batching] | None = None
        self._made: dict[Experiment, Trainable] = {}

    def of(self, experiment: Experiment) -> Trainable:
        """Return an experiment, resolved, with its data."""
        cut = experiment.task, experiment.training.batching
        if cut != self._cut:
            self._cut, self._made = cut, {}
        if experiment not in self._made:
            data = self._corpora.of(experiment.task)
            resolved = experiment.resolve(data)
            recipe, alike = resolved.recipe, next(iter(self._made.values()), None)
            setup = TrainSetup.of(recipe, data) if alike is None else alike.setup
            self._made[experiment] = Trainable(resolved, data, replace(setup, recipe=recipe))
        return self._made[experiment]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Runs of a variant of which none waits for another: those that tune it, or seeds at a point.

    Attributes:
        title: the variant's name while it is trained, and the point's.
        left: the folders of the runs that were not finished when the stage began.
        tunes: whether the lowest validation loss is chosen, and nothing is decoded.
    """

    variant: PlannedVariant
    runs: Sequence[PlannedRun]
    title: str
    left: Set[Path]
    tunes: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """Runs of a stage that train together. The manifest of each names all of its group."""

    stage: Stage
    runs: Sequence[PlannedRun]
    trainable: Trainable = field(compare=False, repr=False)

    @cached_property
    def folders(self) -> list[Path]:
        return [run.folder for run in self.runs]

    @cached_property
    def title(self) -> str:
        """The variant and, where they are not all of its stage, the seeds."""
        if self.stage.tunes or len(self.runs) == len(self.stage.runs):
            return self.stage.title
        seeds = [str(run.manifest.seed) for run in self.runs]
        return f"{self.stage.title}, seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"


class TrainedGroup(NamedTuple):
    """The result of each run of a group, the setup that they had, and the code that began them."""

    outcomes: Sequence[TrainResult]
    setup: TrainSetup
    code: Code


def tuning_groups(
    variant: PlannedVariant, unfinished: Sequence[PlannedRun]
) -> dict[Experiment, list[PlannedRun]]:
    """Group the unfinished runs of a tuning: those that differ in seed and schedule alone.

    The key is the experiment of a group, with the schedule of the variant. It is not scored, so
    that no process waits for a score: the lowest loss is chosen. A finished run is left alone:
    training it along would change its files.
    """
    groups = defaultdict[Experiment, list[PlannedRun]](list)
    alike = {SCHEDULE: variant.experiment.optimizer.schedule, "training.scoring": None}
    names = tuple(f"seed-{seed}" for seed in variant.plan.loaded.ablation.tuning_seeds)
    for run in unfinished:
        wanted = replace(run.manifest, together=names)
        groups[vary(run.experiment, alike)].append(replace(run, manifest=wanted))
    return groups


def seed_groups(
    runs: Sequence[PlannedRun], unfinished: Sequence[PlannedRun], together: int
) -> list[list[PlannedRun]]:
    """Divide the unfinished runs of a stage into groups that train together.

    A begun run keeps its group, because the size of a group decides the program, and so the
    rounding; so does a run of such a group that a kill left without a checkpoint. The others are
    divided by their positions among all runs, so that every process that works on the variant
    divides them alike; `together` is the greatest number of new runs in a group.
    """
    positions = {run.folder: position for position, run in enumerate(runs)}
    named = {run.folder: _together(run.folder) for run in unfinished}
    saved = {run.folder for run in unfinished if has_progress(run.folder)}
    begun = {named[folder] for folder in saved}
    members = defaultdict[tuple[str, ...] | int, list[PlannedRun]](list)
    for run in unfinished:
        folder, names = run.folder, named[run.folder]
        goes_on = names in begun and (folder.name in names or folder in saved)
        members[names if goes_on else positions[folder] // together].append(run)
    groups = []
    for key, group in members.items():
        names = key if isinstance(key, tuple) else tuple(run.folder.name for run in group)
        groups.append(
            [replace(run, manifest=replace(run.manifest, together=names)) for run in group]
        )
    return groups


def _together(folder: Path) -> tuple[str, ...]:
    """Return the names of a run's group in its config.json; (): there is none that can be read."""
    try:
        return tuple(read(folder).together)
    except UserError:
        return ()


def seeds_together(
    variant: PlannedVariant,
    trainable: Trainable,
    unfinished: Sequence[PlannedRun],
    say: Callable[[str], None],
) -> int:
    """Return how many of a variant's new seeds train together: as asked for, or as many as fit.

    Where an update takes much of a CPU, it is 1.
    """
    plan, new = variant.plan, sum(not has_progress(run.folder) for run in unfinished)
    if plan.together is not None or new < 2:
        return plan.together or len(plan.all_seeds)
    if jax.default_backend() == "cpu" and trainable.cost.flops > ALONE:
        say(
            f"{variant.name}: its {new} seeds are trained one after the other, for an update takes "
            f"{trainable.cost.flops / 1e9:.0f} GFLOPs; --together {new} trains them in one program"
        )
        return 1
    free = free_memory()
    if free is None:
        return len(plan.all_seeds)
    seed = seed_memory(trainable.setup)
    fit = max(1, free // seed)
    if fit < new:
        say(
            f"{variant.name}: {fit} of its {new} seeds are trained together, because "
            f"{free / 1e9:.1f} GB of memory are free and each seed takes about {seed / 1e9:.1f} GB"
        )
    return fit
