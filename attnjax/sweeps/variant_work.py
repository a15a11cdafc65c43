"""The work of a process on one variant: it is tuned, and its free groups of seeds are run."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from attnjax.console import print_line
from attnjax.data.corpus import Corpus
from attnjax.data.loaded import Corpora
from attnjax.errors import Diverged, Interrupted, MachineError, exhausted
from attnjax.experiment import Experiment
from attnjax.reporting.live import LiveReport
from attnjax.runs import failures
from attnjax.runs.failures import SweepFailures
from attnjax.runs.initial_parameters import source_of
from attnjax.runs.lease import Lost, Taken, leased
from attnjax.runs.run_folder import check, has_progress
from attnjax.sweeps.plan import Sweep
from attnjax.sweeps.seed_groups import Group, fitting, seed_groups
from attnjax.sweeps.train_group import Trainable, run_group
from attnjax.sweeps.tune import Tuner

NOT_OF_A_RUN = (Interrupted, MachineError, OSError)
"""Errors that do not concern a single run, and end the sweep."""


@dataclass(kw_only=True)
class VariantWork:
    """The work on one variant.

    Attributes:
        title: the variant's name while it is trained.
        only: whether this is the only variant: the error of its only group is raised.
        failed: what has failed during the sweep.
        live: the report, which is written anew after a group.
        together: the greatest number of new seeds that train together; None: not known yet.
    """

    tuner: Tuner
    title: str
    only: bool
    corpora: Corpora
    failed: SweepFailures
    live: LiveReport
    console: Console
    together: int | None = None

    @property
    def plan(self) -> Sweep:
        """The runs that the command asks for."""
        return self.tuner.plan

    def run(self, before: Mapping[Path, Taken]) -> dict[Path, Taken]:
        """Tune the variant, and run its groups of seeds that are free.

        Returns the runs of this variant that other processes are running, or must finish first;
        `before` are such runs of earlier variants.
        """
        data = self.corpora.of(self.tuner.experiment.task)
        try:
            experiment = self._tuned(data)
        except Taken as error:
            self._say_if_lost(error)
            return dict.fromkeys(self.plan.runs(self.tuner.variant, self.tuner.experiment), error)
        if experiment is None:
            return {}
        taken = self._run(experiment, self.plan.runs(self.tuner.variant, experiment), data, before)
        for other, runs in self.tuner.tied():
            taken |= self._run(other, runs, data, before)
        return taken

    def _run(
        self, experiment: Experiment, runs: Group, data: Corpus, before: Mapping[Path, Taken]
    ) -> dict[Path, Taken]:
        """Run the groups of seeds that are free, with the variant's chosen or tied values."""
        left = self.plan.unfinished(runs)
        if not left:
            return {}

        trainable = Trainable(experiment.resolve(data), data)
        if self.together is None:
            self.together = fitting(self.tuner, trainable, left, self._say)
        taken: dict[Path, Taken] = {}
        while group := self._next_group(runs, taken):
            seeds = (wanted.seed for wanted in group.values())
            sources = {source_of(experiment, seed, self.plan.above) for seed in seeds}
            if needed := sources & before.keys():
                taken |= dict.fromkeys(group, before[min(needed)])
                continue
            where = next(iter(group)).parent
            title = self.title if where == self.tuner.folder else f"{self.title}, {where.name}"
            title += "" if len(group) == len(runs) else f", {_seeds(group)}"
            try:
                with leased([*group]) as leases:
                    # another process may have worked on the group before it was leased
                    if self._next_group(runs, taken) == group:
                        run_group(self.plan, trainable, group, leases, title, self.console)
                        self.live.update()
            except Taken as error:
                self._say_if_lost(error)
                taken |= dict.fromkeys(group, error)
            except NOT_OF_A_RUN:
                raise
            except Exception as error:
                if self._failed(group, left, error):
                    raise
        return taken

    def _tuned(self, data: Corpus) -> Experiment | None:
        """The variant with the chosen values, tuned now if need be; None: its tuning failed."""
        folder = self.tuner.folder
        experiment = self.tuner.tuned()
        if experiment is not None or self.failed.has(folder):
            return experiment
        try:
            experiment = self.tuner.tune(data, self.console, self.title)
            # runs that are there may have been trained with another choice
            for run, wanted in self.plan.runs(self.tuner.variant, experiment).items():
                check(run, wanted, self.plan.loaded, may_lengthen=True)
        except NOT_OF_A_RUN:  # `Taken` is one
            raise
        except Exception as error:
            self.failed.add({folder: error}, aloud=not self.only)
            if self.only:
                raise
            return None
        failures.forget(folder)
        return experiment

    def _next_group(self, runs: Group, taken: Collection[Path]) -> Group:
        """The next group that is free and has not failed; {}: there is none."""
        assert self.together is not None
        for group in seed_groups(runs, self.plan.unfinished(runs), self.together):
            left = {folder: own for folder, own in group.items() if not self.failed.has(folder)}
            if left and not any(folder in taken for folder in left):
                return left
        return {}

    def _failed(self, group: Group, left: Group, error: Exception) -> bool:
        """Record why runs of a group failed; halve the groups if one needs too much memory.

        Returns whether nothing else is to be run: the error is raised.
        """
        # a run that has begun keeps its group
        if exhausted(error) and len(group) > 1 and not any(map(has_progress, group)):
            self.together = len(group) // 2
            self._say(
                f"{len(group)} seeds together need more memory than there is; {self.together} are "
                "trained together"
            )
            return False
        each = error.errors if isinstance(error, Diverged) else dict.fromkeys(group, error)
        alone = self.only and left.keys() == each.keys()
        self.failed.add(each, aloud=not alone)
        return alone

    def _say(self, sentence: str) -> None:
        print_line(self.console, f"{self.tuner.variant}: {sentence}")

    def _say_if_lost(self, error: Taken) -> None:
        if isinstance(error, Lost):
            print_line(self.console, str(error))


def _seeds(group: Group) -> str:
    seeds = [str(wanted.seed) for wanted in group.values()]
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {', '.join(seeds)}"
