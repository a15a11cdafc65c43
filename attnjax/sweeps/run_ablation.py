"""Runs an ablation: every variant with every seed, each run in a folder of its own.

    <runs>/<experiment>/<variant>/seed-<n>/     see `attnjax.runs.run_folder`
    <runs>/<experiment>/summary.json            see `attnjax.results.summary`

A finished run is not run again, unless `training.steps` has grown; an interrupted run goes on. The
seeds of a variant are trained together, in one program, in groups that fit into memory. If the
experiment file has a grid, each variant is tuned first (`attnjax.sweeps.tune`). Several processes,
of several machines, may work on one sweep: each takes the next free group (`attnjax.runs.lease`).
"""

import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from attnjax.console import print_line
from attnjax.data.corpus import Corpus, Task
from attnjax.data.overlap import with_overlap
from attnjax.errors import Diverged, Interrupted, MachineError, exhausted
from attnjax.evaluation.measurement import Measurement
from attnjax.experiment import Experiment
from attnjax.experiment.tuning import describe
from attnjax.reporting.number import number
from attnjax.runs import failures
from attnjax.runs.initial_parameters import (
    check_initial_parameters,
    source_of,
    with_initial_parameters,
)
from attnjax.runs.lease import Leases, Lost, Taken, leased
from attnjax.runs.provenance import code
from attnjax.runs.run_folder import claim_folder, has_progress, supersede, write_result
from attnjax.sweeps.finish import finish, validation_score
from attnjax.sweeps.multi_process import announced
from attnjax.sweeps.plan import Sweep, check_corpus, check_folders, unfinished_runs
from attnjax.sweeps.seed_groups import Group, seed_groups
from attnjax.sweeps.tune import Tuner
from attnjax.training.checkpoints.disk import writable
from attnjax.training.devices.memory import free_memory, seed_memory
from attnjax.training.loop.run_state import Run
from attnjax.training.loop.train import train
from attnjax.training.train_setup import TrainSetup

SECONDS_BETWEEN_LOOKS = 10.0
"""How often a process that has nothing to train looks at the runs that other processes train."""


def sweep(plan: Sweep, console: Console) -> dict[str, str]:
    """Tune every variant, and train, decode and measure every run that is not finished yet.

    A group of runs that fails does not stop the others; calling again tries it again. Runs that
    other processes train are waited for, and taken up when those processes die.

    Returns:
        Why runs and tunings failed, by their folders' names; {}: all runs are finished.

    Raises:
        UserError: the experiment cannot be run as it is; nothing that was saved is lost.
        Interrupted: a signal came; calling again resumes.
        Exception: the only group to be run failed.
    """
    chosen, work = plan.chosen(), _Work(plan, console)
    for path in plan.loaded.ablation.tune:
        if path not in plan.grid:
            work.say(f"{path} is not tuned: the command line sets it")
    check_folders(plan, chosen)
    # all variants are checked against the data before the first is trained
    waiting, coming = {}, set[Path]()
    for variant, experiment in chosen.items():
        tuner = plan.tuner(variant, experiment)
        tuned = tuner.tuned()
        runs = plan.runs(variant, tuned or experiment)
        if tuned is None or unfinished_runs(runs):
            data = work.corpus(experiment.task)
            check_corpus(tuner, data)
            seeds = [wanted.seed for wanted in unfinished_runs(runs).values()]
            check_initial_parameters(experiment, data.vocabularies, seeds, plan.above, coming)
            coming |= runs.keys()
            waiting[variant] = tuner
        else:
            console.print(f"{variant}: {len(runs)} of {len(runs)} runs are there already")
    for sentence in plan.chosen_parts():
        work.say(sentence)
    untuned = [tuner for tuner in waiting.values() if tuner.tuned() is None]
    if untuned:
        count = "1 variant" if len(untuned) == 1 else f"{len(untuned)} variants"
        work.say(
            f"tunes {count} x {len(untuned[0].manifests)} values first: {describe(plan.grid)}; "
            f"chosen by the validation loss of seed {untuned[0].seed}",
        )
    while taken := work.run(waiting):
        work.wait(taken)
    return {str(folder.relative_to(plan.folder)): why for folder, why in work.failed.items()}


NOT_OF_A_RUN = (Interrupted, MachineError, OSError)
"""Errors that do not concern a single run, and end the sweep."""


class _Work:
    """The work of this process on a sweep.

    Attributes:
        failed: why runs failed, by their folders; a variant's folder, if its tuning failed.
    """

    def __init__(self, plan: Sweep, console: Console) -> None:
        self._plan, self._console = plan, console
        self._corpora: dict[Task, Corpus] = {}
        self._earlier = failures.recorded(plan.folder)
        self._together: dict[str, int] = {}
        self._said = ""
        self.failed: dict[Path, str] = {}

    def corpus(self, task: Task) -> Corpus:
        """The data of a task, which are read once."""
        if task not in self._corpora:
            self._corpora[task] = with_overlap(task.load())
            for note in self._corpora[task].notes:
                self.say(f"data: {note}")
        return self._corpora[task]

    def say(self, sentence: str) -> None:
        """Print a line as it is, however long."""
        print_line(self._console, sentence)

    def run(self, tuners: Mapping[str, Tuner]) -> list[Taken]:
        """Run all that is free; return what other processes are running.

        What has failed during this sweep, in another process too, is not tried again.
        """
        taken: dict[Path, Taken] = {}
        for place, (variant, tuner) in enumerate(tuners.items(), start=1):
            title = f"{variant} (variant {place} of {len(tuners)})" if len(tuners) > 1 else variant
            taken |= self._run_variant(tuner, title, taken, only=len(tuners) == 1)
        return [*dict.fromkeys(taken.values())]

    def wait(self, taken: Sequence[Taken]) -> None:
        """Wait a little for other processes."""
        sentence = f"waits for what other processes run: {', '.join(one.run for one in taken)}"
        if sentence != self._said:
            self.say(sentence)
        self._said = sentence
        time.sleep(SECONDS_BETWEEN_LOOKS)

    def _run_variant(
        self, tuner: Tuner, title: str, before: Mapping[Path, Taken], *, only: bool
    ) -> dict[Path, Taken]:
        """Tune a variant, and run its groups of seeds that are free.

        Args:
            tuner: the tuning of the variant.
            title: the variant's name on the console.
            before: the runs of earlier variants that other processes are running.
            only: whether this is the only variant: the error of its only group is raised.

        Returns:
            The runs of this variant that other processes are running, or must finish first.
        """
        data = self.corpus(tuner.experiment.task)
        try:
            experiment = tuner.tuned()
            if experiment is None and not self._has_failed(tuner.folder):
                experiment = tuner.tune(data, self._console, title)
                failures.forget(tuner.folder)
        except Taken as error:
            self._say_if_lost(error)
            return dict.fromkeys(self._plan.runs(tuner.variant, tuner.experiment), error)
        except NOT_OF_A_RUN:
            raise
        except Exception as error:
            self._fail({tuner.folder: error}, said=not only)
            if only:
                raise
            return {}
        if experiment is None:
            return {}
        runs = self._plan.runs(tuner.variant, experiment)
        left, taken = unfinished_runs(runs), dict[Path, Taken]()
        if not left:
            return {}
        if tuner.variant not in self._together:
            setup = TrainSetup.of(experiment.resolve(data).recipe, data)
            self._together[tuner.variant] = self._fitting(tuner.variant, setup, left)
        while group := self._next_group(tuner.variant, runs, taken):
            named = title if len(group) == len(runs) else f"{title}, {_seeds(group)}"
            sources = {source_of(experiment, one.seed, self._plan.above) for one in group.values()}
            if needed := sources & before.keys():
                taken |= dict.fromkeys(group, before[min(needed)])
                continue
            try:
                with writable(next(iter(group))), leased(group) as leases:
                    # another process may have worked on the group before it was leased
                    if self._next_group(tuner.variant, runs, taken) == group:
                        resolved = experiment.resolve(data)
                        self._run_group(tuner.variant, resolved, data, group, named, leases)
            except Taken as error:
                self._say_if_lost(error)
                taken |= dict.fromkeys(group, error)
            except NOT_OF_A_RUN:
                raise
            except Exception as error:
                if self._smaller_groups(tuner.variant, group, error):
                    continue
                each = error.errors if isinstance(error, Diverged) else dict.fromkeys(group, error)
                alone = only and left.keys() == each.keys()
                self._fail(each, said=not alone)
                if alone:
                    raise
        return taken

    def _next_group(self, variant: str, runs: Group, taken: Collection[Path]) -> Group:
        """The next group that is free and has not failed; {}: there is none."""
        for group in seed_groups(runs, self._together[variant]):
            left = {folder: one for folder, one in group.items() if not self._has_failed(folder)}
            if left and not any(folder in taken for folder in left):
                return left
        return {}

    def _run_group(
        self,
        variant: str,
        experiment: Experiment,
        data: Corpus,
        group: Group,
        title: str,
        leases: Leases,
    ) -> None:
        """Train a group of runs together, and finish each."""
        for folder, wanted in group.items():
            claim_folder(folder, wanted, self._plan.loaded, data.vocabularies)
        seeds = [Run(folder=folder, seed=wanted.seed) for folder, wanted in group.items()]
        setup, begun = with_initial_parameters(
            TrainSetup.of(experiment.recipe, data),
            experiment,
            data.vocabularies,
            seeds,
            self._plan.above,
        )
        if begun:
            self.say(f"{variant}: {begun}")
        stacked = _stacked(group)
        lengthen = partial(supersede, group, self._plan.loaded, data.vocabularies)
        with announced(experiment, data, self._plan.loaded, seeds, stacked=stacked):
            outcomes = train(
                seeds,
                setup,
                console=self._console,
                title=title,
                stacked=stacked,
                before_save=leases.check,
                after_save=lengthen,
                profiled_steps=self._plan.profiled_steps,
                score=validation_score(experiment, data),
            )
        leases.check()
        lengthen()  # a run whose patience has ended has saved nothing
        for (folder, wanted), outcome in zip(group.items(), outcomes, strict=True):
            initial = setup.initial_state(wanted.seed).params if experiment.measures else None
            doing = f"{variant}: decoding and measuring seed {wanted.seed}"
            with self._console.status(doing):
                found = finish(folder, experiment, data, outcome, initial, seed=wanted.seed)
            leases.check()
            made = {
                "variant": variant,
                "seed": wanted.seed,
                "code": asdict(code(self._plan.loaded.path)),
            }
            write_result(folder, {**made, **found})
            failures.forget(folder)
            self.say(f"{variant}, seed {wanted.seed}: {_shown(found)}")

    def _fitting(self, variant: str, setup: TrainSetup, runs: Group) -> int:
        """The number of a variant's new seeds that train together: as asked for, or as many as fit.

        Args:
            variant: the name of the variant.
            setup: of its runs.
            runs: the runs that are not finished.
        """
        new, free = sum(not has_progress(folder) for folder in runs), free_memory()
        if self._plan.together is not None or new < 2 or free is None:
            return self._plan.together or len(self._plan.all_seeds)
        fitting = max(1, free // seed_memory(setup))
        if fitting < new:
            self.say(
                f"{variant}: {fitting} of its {new} seeds are trained together, because "
                f"{free / 1e9:.1f} GB of memory are free and each seed takes about "
                f"{seed_memory(setup) / 1e9:.1f} GB"
            )
        return fitting

    def _smaller_groups(self, variant: str, group: Group, error: Exception) -> bool:
        """Halve a variant's groups if one needs more memory than there is.

        Returns:
            Whether the groups are smaller now: a run that has begun keeps its group.
        """
        if not exhausted(error) or len(group) == 1 or any(map(has_progress, group)):
            return False
        self._together[variant] = len(group) // 2
        self.say(
            f"{variant}: {len(group)} seeds together need more memory than there is; "
            f"{len(group) // 2} are trained together"
        )
        return True

    def _say_if_lost(self, error: Taken) -> None:
        if isinstance(error, Lost):
            self.say(str(error))

    def _has_failed(self, folder: Path) -> bool:
        """Whether what is in a folder has failed during this sweep, here or in another process."""
        when = failures.recorded(folder).get(folder)
        if folder not in self.failed and when and when != self._earlier.get(folder):
            self.failed[folder] = failures.reason(folder) or ""
        return folder in self.failed

    def _fail(self, errors: Mapping[Path, Exception], *, said: bool) -> None:
        """Record why runs, or a tuning, failed, and say each reason once if it is to be said."""
        names = defaultdict[str, list[str]](list)
        for folder, error in errors.items():
            self.failed[folder] = failures.record(folder, error)
            names[self.failed[folder]].append(str(folder.relative_to(self._plan.folder)))
        for why, failed in names.items() if said else ():
            self.say(f"{', '.join(failed)} failed: {why}")


def _stacked(group: Group) -> bool:
    """Whether a group's arrays have an axis of seeds, which stays when few of its runs are left."""
    together = next(iter(group.values())).together
    return len(together or group) > 1


def _shown(found: Mapping[str, Any]) -> str:
    """The metrics of a run that have a better direction, in words."""
    measured = map(Measurement.read, found["metrics"])
    return ", ".join(f"{one.key} {number(one.value)}" for one in measured if one.better)


def _seeds(group: Group) -> str:
    seeds = [str(wanted.seed) for wanted in group.values()]
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {', '.join(seeds)}"
