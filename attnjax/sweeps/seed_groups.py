"""Which seeds of a variant train together, in one program."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from attnjax.errors import UserError
from attnjax.runs.manifest import Manifest, read
from attnjax.runs.run_folder import has_progress
from attnjax.sweeps.plan import unfinished_runs

type Group = dict[Path, Manifest]
"""Runs that train together: their folders, and the manifest of each."""


def seed_groups(runs: Mapping[Path, Manifest], together: int) -> list[Group]:
    """The unfinished runs of a variant, in groups that train together.

    A begun run keeps its group, because the size of a group decides the program, and so the
    rounding; so does a run of such a group that a kill left without a checkpoint. The others are
    divided by their places among all runs, so that every process that works on the variant divides
    them alike.

    Args:
        runs: the folder and the manifest of each run of the variant, finished or not.
        together: the greatest number of new runs in a group.
    """
    places = {folder: place for place, folder in enumerate(runs)}
    groups: dict[tuple[str, ...], Group] = {}
    new: dict[int, list[Path]] = {}
    unfinished = unfinished_runs(runs)
    begun = {_together(folder) for folder in unfinished if has_progress(folder)}
    for folder, wanted in unfinished.items():
        names = _together(folder)
        if names in begun and (folder.name in names or has_progress(folder)):
            groups.setdefault(names, {})[folder] = replace(wanted, together=names)
        else:
            new.setdefault(places[folder] // together, []).append(folder)
    for folders in new.values():
        names = tuple(folder.name for folder in folders)
        groups[names] = {folder: replace(runs[folder], together=names) for folder in folders}
    return sorted(groups.values(), key=lambda group: min(places[folder] for folder in group))


def _together(folder: Path) -> tuple[str, ...]:
    """The names of a run's group in its config.json; (): there is none that can be read."""
    try:
        return tuple(read(folder).together)
    except UserError:
        return ()
