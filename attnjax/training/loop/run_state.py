"""A run during its training: its folder, seed, state and progress."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attnjax.errors import UserError
from attnjax.training.checkpoints.checkpoint import Checkpoints
from attnjax.training.checkpoints.snapshot import RunProgress
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
    """The result of a finished training.

    Attributes:
        params: the mean of the parameters at ends of epochs, see `Training.average`, in NumPy.
        averaged: the steps of these ends of epochs.
        seconds: the training time over all resumes; runs that train together share it equally.
        best: the lowest `RunProgress.loss`, or infinity if the run diverged; None without
            validation examples.
    """

    params: Any
    step: int
    averaged: Sequence[int]
    epochs: float
    seconds: float
    stopped: str
    best: float | None


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

    Runs that train together are saved one after the other. A checkpoint is complete if all of them
    have one at its step. If the program was killed in between, the newest checkpoints are dropped:
    all runs go on from the checkpoints before, together, in the same program.
    """
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
        log = MetricsLog(run.folder, step=step, end=progress.log)
        state = RunState(run=run, step=step, progress=progress)
        state.checkpoints, state.log = checkpoints, opened.enter_context(closing(log))
        states.append(state)
    return states
