"""Which seeds of a variant train together, in one program."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import jax

from attnjax.errors import UserError
from attnjax.runs.manifest import Manifest, read
from attnjax.runs.run_folder import has_progress
from attnjax.sweeps.train_group import Trainable
from attnjax.sweeps.tune import Tuner
from attnjax.training.devices.memory import free_memory, seed_memory

ALONE = 3e9
"""The FLOPs of an update above which seeds gain nothing together on a CPU.

A Transformer of width 64 with 512 tokens a seed takes fewer, and gains; one of width 128 with 1,024
takes more. It is fixed, not measured at every start, so that equal commands make equal programs.
"""

type Group = dict[Path, Manifest]
"""Runs that train together: their folders, and the manifest of each."""


def seed_groups(
    runs: Mapping[Path, Manifest], unfinished: Mapping[Path, Manifest], together: int
) -> list[Group]:
    """The unfinished runs of a variant, in groups that train together.

    A begun run keeps its group, because the size of a group decides the program, and so the
    rounding; so does a run of such a group that a kill left without a checkpoint. The others are
    divided by their places among all runs, so that every process that works on the variant divides
    them alike; `together` is the greatest number of new runs in a group.
    """
    places = {folder: place for place, folder in enumerate(runs)}
    named = {folder: _together(folder) for folder in unfinished}
    saved = {folder for folder in unfinished if has_progress(folder)}
    begun = {named[folder] for folder in saved}
    members = defaultdict[tuple[str, ...] | int, list[Path]](list)
    for folder in unfinished:
        names = named[folder]
        goes_on = names in begun and (folder.name in names or folder in saved)
        members[names if goes_on else places[folder] // together].append(folder)
    groups = []
    for key, folders in members.items():
        names = key if isinstance(key, tuple) else tuple(folder.name for folder in folders)
        groups.append({folder: replace(runs[folder], together=names) for folder in folders})
    return groups


def fitting(tuner: Tuner, trainable: Trainable, runs: Group, say: Callable[[str], None]) -> int:
    """The number of a variant's new seeds that train together: as asked for, or as many as fit.

    Where an update takes much of a CPU, it is 1. `runs` are those that are not finished.
    """
    plan, new = tuner.plan, sum(not has_progress(folder) for folder in runs)
    if plan.together is not None or new < 2:
        return plan.together or len(plan.all_seeds)
    if jax.default_backend() == "cpu" and (flops := trainable.costs.training.flops) > ALONE:
        say(
            f"its {new} seeds are trained one after the other, for an update takes "
            f"{flops / 1e9:.0f} GFLOPs; --together {new} trains them in one program"
        )
        return 1
    free = free_memory()
    if free is None:
        return len(plan.all_seeds)
    seed = seed_memory(trainable.setup)
    fit = max(1, free // seed)
    if fit < new:
        say(
            f"{fit} of its {new} seeds are trained together, because {free / 1e9:.1f} GB of memory "
            f"are free and each seed takes about {seed / 1e9:.1f} GB"
        )
    return fit


def _together(folder: Path) -> tuple[str, ...]:
    """The names of a run's group in its config.json; (): there is none that can be read."""
    try:
        return tuple(read(folder).together)
    except UserError:
        return ()
