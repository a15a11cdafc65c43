"""A sweep: every run of a plan that is not finished is trained, decoded and measured.

A finished run is not run again, unless `training.steps` has grown; an interrupted run goes on. The
points of a grid, the seeds, and the seeds at tied points are runs alike; see
`attnjax.lab.sweeps.plan`. Runs train together, in groups. Several processes, of several machines,
may work on one sweep (`attnjax.lab.runs.lease`); those of one command begin at different variants,
and help each other at the end.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console

from attnjax.config.console import print_line
from attnjax.data.loaded import Corpora
from attnjax.errors import Interrupted, MachineError, UserError
from attnjax.lab.reporting import evidence
from attnjax.lab.reporting.live import LiveReport
from attnjax.lab.results.tuning import tuning_row
from attnjax.lab.runs import failures
from attnjax.lab.runs.failures import SweepFailures
from attnjax.lab.runs.initial_parameters import source_of
from attnjax.lab.runs.lease import Leases, Taken, leased
from attnjax.lab.runs.run_folder import RESULT, check
from attnjax.lab.sweeps.checks import check_recipes, compared, waiting
from attnjax.lab.sweeps.division import Division
from attnjax.lab.sweeps.finish import finish
from attnjax.lab.sweeps.found import Found, VariantRuns
from attnjax.lab.sweeps.groups import Group, Stage, Trainables
from attnjax.lab.sweeps.outcomes import Outcomes, Say
from attnjax.lab.sweeps.plan import RunSpec, resolve
from attnjax.lab.sweeps.request import Request
from attnjax.lab.sweeps.train import train
from attnjax.lab.sweeps.worker import Member

SECONDS_BETWEEN_LOOKS = 10.0
"""How often a process that has nothing to train looks at the runs that other processes train."""

NOT_OF_A_RUN = (Interrupted, MachineError, OSError)
"""Errors that do not concern a single run, and end the sweep."""


def sweep(request: Request, console: Console, member: Member | None = None) -> dict[str, str]:
    """Tune every variant, and train, decode and measure every run that is not finished yet.

    Returns why runs and tunings failed, by their folders' names: a group that fails does not stop
    the others, and calling again tries it again. Runs that other processes train are waited for,
    and taken up when those processes die. `member` says which of a command's workers this process
    is; None: it is none.

    Raises:
        UserError: the experiment cannot be run as it is; nothing that was saved is lost.
        Interrupted: a signal came; calling again resumes.
        Exception: the only group to be run failed.
    """
    member = member or Member()
    work, report = (
        Work(request, console, member),
        LiveReport(folder=request.folder, loaded=request.loaded, records=request.records),
    )
    for group in work.runs():
        with work.locked(group) as leases:
            if leases is not None:
                finish(group, train(group, leases, console), leases, console)
        if leases is not None:
            member.finished()
            report.update()
    reasons = work.outcomes.failed.reasons
    return {str(run.relative_to(request.folder)): why for run, why in reasons.items()}


class Work:
    """The groups of a request that are left, which train together."""

    def __init__(self, request: Request, console: Console, member: Member) -> None:
        """Plan the runs, read what is there, and check all before the first run is trained."""
        self._member = member
        self._say = partial(print_line, console)
        self._corpora = Corpora(self._say)
        plan = resolve(request)
        self._found = Found(plan, compared(plan, self._corpora))
        failed = SweepFailures(request.folder, console)
        self._waiting = waiting(self._found, self._corpora, self._say)
        only = len(self._waiting) == 1 and not member.of_command
        self.outcomes = Outcomes(failed, self._say, only=only)
        trainables = Trainables(self._corpora)
        self._division = Division(self._found, trainables, self.outcomes, self._say)
        self._seeds = {run.folder for variant in self._waiting for run in variant.seeds}

    def runs(self) -> Iterator[Group]:
        """Yield the groups that are free, variant by variant, until nothing is left.

        A variant's groups are those of its grid, then of its seeds, then of those at tied points.
        Results are read on the way: those of a grid say at which point the seeds train. What other
        processes hold is looked at again at the end.

        The workers of a command tune all variants first: then the last groups are seeds, which wait
        for nothing, and every worker finds some.
        """
        count = len(self._waiting)
        first = self._member.begin_at(count)
        order = *range(first, count), *range(first)
        while True:
            self.outcomes.held.clear()
            for tunes in (True, False) if self._member.of_command else (False,):
                for index in order:
                    variant = self._waiting[index]
                    place = "" if count == 1 else f" (variant {index + 1} of {count})"
                    yield from self._runs_of(self._look(variant), f"{variant.name}{place}", tunes)
            if not self.outcomes.held:
                return
            names = dict.fromkeys(taken.run for taken in self.outcomes.held.values())
            sentence = f"waits for what other processes run: {', '.join(names)}"
            self._member.wait(SECONDS_BETWEEN_LOOKS, sentence, self._say)

    def _runs_of(self, variant: VariantRuns, title: str, only_tunes: bool) -> Iterator[Group]:
        """Yield the groups of a variant that are free; with `only_tunes` those that tune it."""
        if self.outcomes.failed.has(variant.folder):
            return
        if not variant.choice:
            yield from self._left(variant, variant.tuning, title, tunes=True)
            variant = self._look(variant)
            if variant.grown and self._may_grow(variant):
                yield from self._left(variant, variant.tuning, title, tunes=True)
                variant = self._look(variant)
            if not self._choose(variant):
                return
        if only_tunes:
            return
        yield from self._left(variant, variant.seeds, title)
        for runs in variant.tied:
            yield from self._left(variant, runs, f"{title}, {runs[0].folder.parent.name}")

    def _left(
        self,
        variant: VariantRuns,
        runs: Sequence[RunSpec],
        title: str,
        *,
        tunes: bool = False,
    ) -> Iterator[Group]:
        """Yield the groups of a stage that are free, one after the other."""
        left = {run.folder for run in self._found.unfinished(runs)}
        stage = Stage(variant=variant, runs=runs, title=title, left=left, tunes=tunes)
        while free := [group for group in self._division.groups(stage) if not self._waits(group)]:
            yield free[0]

    def _waits(self, group: Group) -> bool:
        """Return whether another process has a run of the group, or must first do its source."""
        above, held = self._found.request.above, self.outcomes.held
        sources = {source_of(run.experiment, run.seed, above) for run in group.runs}
        if coming := sorted(filter(self._coming, sources)):
            held |= dict.fromkeys(coming, Taken(coming[0], "is to be trained first"))
        needed = sorted(held.keys() & {*sources, *group.folders})
        if needed:
            held |= dict.fromkeys(group.folders, held[needed[0]])
        return bool(needed)

    def _coming(self, source: Path) -> bool:
        """Return whether a run that others begin with is one of this sweep's, and is still left."""
        failed = self.outcomes.failed
        return (
            source in self._seeds
            and not (source / RESULT).exists()
            and not failed.has(source)
            and not failed.has(source.parent)
        )

    def _look(self, variant: VariantRuns) -> VariantRuns:
        """Return the runs of a variant by the results that are there now."""
        self._found.forget_missing()
        return self._found.of(variant.variant)

    def _may_grow(self, variant: VariantRuns) -> bool:
        """Check the value that the grid is longer by. False: the tuning has failed."""
        self._say(f"{variant.name}: the best lies at the grid's edge; one value more")
        try:
            check_recipes(variant, self._corpora.of(variant.experiment.task))
        except UserError as error:
            self.outcomes.fail_tuning(variant, error)
            return False
        return True

    def _choose(self, variant: VariantRuns) -> bool:
        """Say which point is chosen. False: there is none yet, or the tuning has failed."""
        held = self.outcomes.held
        if self.outcomes.failed.has(variant.folder):
            return False
        if taken := [held[run.folder] for run in variant.tuning if run.folder in held]:
            held |= dict.fromkeys((run.folder for run in variant.seeds), taken[0])
            return False
        try:
            choose(variant, self._say)
        except NOT_OF_A_RUN:
            raise
        except Exception as error:
            self.outcomes.fail_tuning(variant, error)
            return False
        failures.forget(variant.folder)
        return True

    @contextmanager
    def locked(self, group: Group) -> Iterator[Leases | None]:
        """Lease the runs of a group. None: another process has them, or has worked on them before.

        An error of the block is recorded; it is raised if it ends the sweep.
        """
        leases = None
        try:
            with leased(group.folders) as leases:
                self._found.forget(group.folders)  # another process may have had them until now
                left = [other.runs for other in self._division.groups(group.stage)]
                yield leases if group.runs in left else None
        except Taken as error:
            self.outcomes.hold(group.folders, error)
        except NOT_OF_A_RUN:
            raise
        except Exception as error:
            self.outcomes.fail(group, error)
        finally:
            self._found.forget(group.folders)
        if leases is None:
            yield None


def choose(variant: VariantRuns, say: Say) -> None:
    """Say which point has the lowest loss, of which.

    Raises:
        UserError: there is none, or seeds are there that were trained at another point.
    """
    if not variant.choice:
        raise UserError(
            f"{variant.name} cannot be tuned: its training diverged at every point of the grid; "
            "lower learning rates, a longer warm-up or clipping may help"
        )
    request = variant.request
    seeds = request.loaded.ablation.tuning_seeds
    row = tuning_row(variant.folder, variant.name, seeds, request.grid, variant.choice[0])
    say(f"{variant.name}: tuned to {evidence.chosen(row)} ({evidence.losses(row)})")
    for run in variant.seeds:
        check(run.folder, run.manifest, request.loaded, may_lengthen=True)
