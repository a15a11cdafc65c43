"""How the runs of a stage are divided into groups, each of which trains in one program."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import jax

from attnjax.config.vary import vary
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.lab.runs.manifest import read
from attnjax.lab.runs.run_folder import has_progress
from attnjax.lab.sweeps.found import Found, VariantRuns
from attnjax.lab.sweeps.groups import SCHEDULE, Group, Stage, Trainable, Trainables
from attnjax.lab.sweeps.outcomes import Outcomes, Say
from attnjax.lab.sweeps.plan import RunSpec
from attnjax.lab.sweeps.request import Request
from attnjax.training.devices.memory import device_memory, free_memory, seed_memory

ALONE = 3e9
"""The FLOPs of an update above which seeds gain nothing together on a CPU.

A Transformer of width 64 with 512 tokens a seed takes fewer, and gains; one of width 128 with 1,024
takes more. It is fixed, not measured at every start, so that equal commands make equal programs.
"""

ON_A_CORE = 4
"""The most runs of a program of a worker that has one core: eight take as much of its time as twice
four, by measurement, and two workers share these. It does not depend on the number of workers."""

BYTES_ON_A_CORE = 4 * 10**9
"""The memory that a program of such a worker may take, by the estimate of `seed_memory`."""


class Division:
    """The division of a plan's stages, by what is finished and what has failed at the moment."""

    def __init__(self, found: Found, trainables: Trainables, outcomes: Outcomes, say: Say) -> None:
        self._found, self._request, self._trainables = found, found.request, trainables
        self._outcomes, self._say = outcomes, say

    def groups(self, stage: Stage) -> list[Group]:
        """Group the runs of a stage that are neither finished nor have failed."""
        failed, unfinished = self._outcomes.failed, self._found.unfinished(stage.runs)
        if not unfinished or failed.has(stage.variant.folder):
            return []
        if stage.tunes:
            return [*self._tuning(stage, unfinished)]
        trainable = self._trainables.of(stage.runs[0].experiment)
        together = self._together(stage.variant, trainable, unfinished)
        groups = seed_groups(stage.runs, unfinished, together)
        left = [[run for run in runs if not failed.has(run.folder)] for runs in groups]
        return [Group(stage=stage, runs=runs, trainable=trainable) for runs in left if runs]

    def _tuning(self, stage: Stage, unfinished: Sequence[RunSpec]) -> Iterator[Group]:
        """Yield the groups of a tuning; on a core the seeds of each point are divided."""
        for experiment, runs in tuning_groups(stage.variant, unfinished).items():
            trainable, divided = self._trainables.of(experiment), [runs]
            if on_a_core(self._request):
                together = self._together(stage.variant, trainable, unfinished)
                divided = groups_of_points(stage.runs, runs, together)
            for group in divided:
                yield Group(stage=stage, runs=group, trainable=trainable)

    def _together(
        self, variant: VariantRuns, trainable: Trainable, unfinished: Sequence[RunSpec]
    ) -> int:
        """Return how many new runs of a variant train together."""
        most, name = self._outcomes.together, variant.name
        if self._request.by_workers:
            size = together_by_worker(self._request, trainable)
            return min(size, most.get(name, size))  # less after it needed too much memory
        if name not in most:
            most[name] = seeds_together(variant, trainable, unfinished, self._say)
        return most[name]


def tuning_groups(
    variant: VariantRuns, unfinished: Sequence[RunSpec]
) -> dict[Experiment, list[RunSpec]]:
    """Group the unfinished runs of a tuning: those that differ in seed and schedule alone.

    The key is the experiment of a group, with the schedule of the variant. It is not scored, so
    that no process waits for a score: the lowest loss is chosen. A finished run is left alone:
    training it along would change its files.
    """
    groups = defaultdict[Experiment, list[RunSpec]](list)
    alike = {SCHEDULE: variant.experiment.optimizer.schedule, "training.scoring": None}
    names = tuple(f"seed-{seed}" for seed in variant.request.loaded.ablation.tuning_seeds)
    for run in unfinished:
        groups[vary(run.experiment, alike)].append(replace(run, together=names))
    return groups


def groups_of_points(
    runs: Sequence[RunSpec], unfinished: Sequence[RunSpec], together: int
) -> list[list[RunSpec]]:
    """Divide the unfinished runs of a tuning as `seed_groups` does those of each point."""
    points = defaultdict[Path, list[RunSpec]](list)
    for run in runs:
        points[run.folder.parent].append(run)
    left = {run.folder: run for run in unfinished}
    return [
        group
        for point in points.values()
        for group in seed_groups(
            point, [left[run.folder] for run in point if run.folder in left], together
        )
    ]


def seed_groups(
    runs: Sequence[RunSpec], unfinished: Sequence[RunSpec], together: int
) -> list[list[RunSpec]]:
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
    members = defaultdict[tuple[str, ...] | int, list[RunSpec]](list)
    for run in unfinished:
        folder, names = run.folder, named[run.folder]
        goes_on = names in begun and (folder.name in names or folder in saved)
        members[names if goes_on else positions[folder] // together].append(run)
    groups = []
    for key, group in members.items():
        names = key if isinstance(key, tuple) else tuple(run.folder.name for run in group)
        groups.append([replace(run, together=names) for run in group])
    return groups


def _together(folder: Path) -> tuple[str, ...]:
    """Return the names of a run's group in its config.json; (): there is none that can be read."""
    try:
        return tuple(read(folder).together)
    except UserError:
        return ()


def seeds_together(
    variant: VariantRuns,
    trainable: Trainable,
    unfinished: Sequence[RunSpec],
    say: Say,
) -> int:
    """Return how many of a variant's new seeds train together: as asked for, or as many as fit.

    Where an update takes much of a CPU, it is 1.
    """
    request, new = variant.request, sum(not has_progress(run.folder) for run in unfinished)
    if request.together is not None or new < 2:
        return request.together or len(request.all_seeds)
    if jax.default_backend() == "cpu" and trainable.cost.flops > ALONE:
        say(
            f"{variant.name}: its {new} seeds are trained one after the other, for an update takes "
            f"{trainable.cost.flops / 1e9:.0f} GFLOPs; --together {new} trains them in one program"
        )
        return 1
    free = free_memory()
    if free is None:
        return len(request.all_seeds)
    seed = seed_memory(trainable.setup)
    fit = max(1, free // seed)
    if fit < new:
        say(
            f"{variant.name}: {fit} of its {new} seeds are trained together, because "
            f"{free / 1e9:.1f} GB of memory are free and each seed takes about {seed / 1e9:.1f} GB"
        )
    return fit


def on_a_core(request: Request) -> bool:
    """Return whether workers of one core each train what is asked for."""
    return request.by_workers and jax.default_backend() == "cpu"


def together_by_worker(request: Request, trainable: Trainable) -> int:
    """Return how many runs train together on the core or the accelerator of a worker.

    It depends on the request and the kind of machine alone: neither on what is free or finished at
    the moment, nor on how many workers there are.
    """
    if request.together is not None:
        return request.together
    if not on_a_core(request):
        memory = device_memory()
        return memory // seed_memory(trainable.setup) or 1 if memory else len(request.all_seeds)
    if trainable.cost.flops > ALONE:
        return 1
    return min(ON_A_CORE, BYTES_ON_A_CORE // seed_memory(trainable.setup)) or 1
