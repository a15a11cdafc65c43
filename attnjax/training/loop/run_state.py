"""A run during its training: its folder, seed, state and progress."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from attnjax.config.record import read_record
from attnjax.errors import UserError
from attnjax.training.checkpoints.checkpoint import Checkpoints
from attnjax.training.checkpoints.snapshot import RunProgress
from attnjax.training.devices import hosts
from attnjax.training.log.metrics_log import MetricsLog
from attnjax.training.schedules import Schedule
from attnjax.training.settings import Training
from attnjax.training.step import State


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training: folder, seed and learning rate."""

    folder: Path
    seed: int
    schedule: Schedule | None = None  # None: that of the optimizer
    may_diverge: bool = False  # a loss that is not finite is an infinite loss, and no error


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainResult:
    """The result of a finished training."""

    params: Any  # in NumPy, the mean of the parameters at the steps of `averaged`
    step: int
    averaged: Sequence[int]  # ends of epochs, see `Training.average`
    epochs: float
    seconds: float  # over all resumes; runs that train together share the time equally
    stopped: str
    best: float | None  # the lowest `RunProgress.loss`; infinity: diverged; None: not validated


@dataclass(kw_only=True, eq=False)
class RunState:
    """A run during its training."""

    run: Run
    step: int
    progress: RunProgress
    state: State | None = None
    failure: UserError | None = None  # why it diverged; such a run is not saved
    skipped: int = 0  # the number of updates skipped in a row
    # the files, in the first process alone
    checkpoints: Checkpoints = field(init=False)
    log: MetricsLog = field(init=False)

    def result(self, training: Training, per_epoch: int) -> TrainResult:
        losses = (self.progress.best, self.progress.loss)
        averaged = self.checkpoints.ends(training.average, training.result)
        return TrainResult(
            params=self.checkpoints.average(averaged),
            step=self.step,
            averaged=averaged,
            epochs=self.step / per_epoch,
            seconds=self.progress.seconds,
            stopped=self.progress.stopped or "steps",
            best=min((loss for loss in losses if loss is not None), default=None),
        )


def open_runs(runs: Sequence[Run], training: Training, opened: ExitStack) -> list[RunState]:
    """The runs, each at its last checkpoint that is complete, or at the beginning.

    Only the first process reads and writes their files, and tells the others where the runs are.

    Runs that train together are saved one after the other. A checkpoint is complete if all of them
    have one at its step. If the program was killed in between, the newest checkpoints are dropped:
    all runs go on from the checkpoints before, together, in the same program.
    """
    if not hosts.is_first():
        return [
            RunState(run=run, step=step, progress=read_record(progress, RunProgress, "process 0"))
            for run, (step, progress) in zip(runs, hosts.broadcast_json(), strict=True)
        ]
    saved = [opened.enter_context(closing(Checkpoints(run.folder))) for run in runs]
    latest = {
        run.folder.name: max(checkpoints.steps, default=0)
        for run, checkpoints in zip(runs, saved, strict=True)
    }

    def whole(checkpoints: Checkpoints, step: int) -> bool:
        together = checkpoints.progress(step).together
        return all(latest.get(name, step) >= step for name in together)

    states = []
    for run, checkpoints in zip(runs, saved, strict=True):
        step = max((step for step in checkpoints.steps if whole(checkpoints, step)), default=0)
        state = RunState(run=run, step=step, progress=_begun(run, step, checkpoints, training))
        log = MetricsLog(run.folder, step=step, end=state.progress.log)
        state.checkpoints, state.log = checkpoints, opened.enter_context(closing(log))
        states.append(state)
    hosts.broadcast_json([[run.step, asdict(run.progress)] for run in states])
    return states


def _begun(run: Run, step: int, checkpoints: Checkpoints, training: Training) -> RunProgress:
    """The progress of a run that goes on from a step; later checkpoints are deleted."""
    if step > training.steps:
        raise UserError(
            f"{run.folder} has a checkpoint of step {step}, and training.steps is "
            f"{training.steps}: choose as many steps at least, or another --runs"
        )
    checkpoints.discard_after(step)
    progress = checkpoints.progress(step) if step else RunProgress()
    if progress.stopped == "steps" and step < training.steps:  # it is to have more steps
        waited = training.patience is not None and progress.waited >= training.patience
        progress = replace(progress, stopped="patience" if waited else None)
    return progress
