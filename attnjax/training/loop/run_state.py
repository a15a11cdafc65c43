"""A run during its training: its folder, seed, state and progress."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.errors import UserError
from attnjax.training.checkpoints.checkpoint import Checkpoints
from attnjax.training.checkpoints.run_progress import RunProgress
from attnjax.training.log.metrics_log import MetricsLog
from attnjax.training.schedules import Schedule
from attnjax.training.settings import Training
from attnjax.training.step import State


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training: folder, seed and learning rate.

    Attributes:
        folder: the folder of all files of the run.
        may_diverge: True: a loss that is not finite is a result, an infinite loss; False: it is an
            error.
    """

    folder: Path
    seed: int
    schedule: Schedule | None = None
    may_diverge: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainResult:
    """The result of a finished training.

    Attributes:
        params: the mean of the parameters at ends of epochs, see `Training.average`, in NumPy.
        averaged: the steps of these ends of epochs.
        epochs: the number of passes over the data.
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


class RunState:
    """A run during its training: its state, its progress, and the files that hold them."""

    def __init__(self, run: Run, checkpoints: Checkpoints, step: int, training: Training) -> None:
        """Go on from the checkpoint of `step`; 0: begin a new training."""
        self.run, self.checkpoints, self.step = run, checkpoints, step
        if step > training.steps:
            raise UserError(
                f"{run.folder} has a checkpoint of step {step}, and training.steps is "
                f"{training.steps}: choose as many steps at least, or another --runs"
            )
        checkpoints.discard_after(step)
        self.progress = checkpoints.progress(step) if step else RunProgress()
        if self.progress.stopped == "steps" and step < training.steps:
            self.progress = _lengthened(self.progress, training)
        self.state: State | None = None
        self.failure: UserError | None = None  # why it diverged; such a run is not saved
        self.skipped = 0  # the updates skipped in a row
        self.log = MetricsLog(run.folder, step=step, end=self.progress.log)

    def restore(self, like: State) -> None:
        """Read the state from its checkpoint; `like` has the same shapes."""
        self.state = self.checkpoints.restore(self.step, like)

    def result(self, training: Training, per_epoch: int) -> TrainResult:
        """The result, once the run has stopped."""
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


class FollowedRun(RunState):
    """A run in a process that is not the first: it has no files."""

    def __init__(self, run: Run, step: int, progress: RunProgress) -> None:
        """Take part in the training of a run that the first process has opened."""
        self.run, self.step, self.progress = run, step, progress
        self.state, self.failure, self.skipped = None, None, 0


def _lengthened(progress: RunProgress, training: Training) -> RunProgress:
    """The progress of a finished run that is to have more steps."""
    waited = training.patience is not None and progress.waited >= training.patience
    return replace(progress, stopped="patience" if waited else None)


def open_runs(runs: Sequence[Run], training: Training, opened: ExitStack) -> list[RunState]:
    """The runs, each at its last checkpoint that is complete.

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
        states.append(RunState(run, checkpoints, step, training))
        opened.enter_context(closing(states[-1].log))
    return states


def stack(states: list[State]) -> State:
    """Stack the states of several runs along a leading axis of runs."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def unstack(state: State, count: int) -> list[State]:
    """Split a stacked state into the states of its runs, on the host."""

    def host(leaf: jax.Array) -> Any:
        return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)

    state = jax.tree.map(host, state)
    return [jax.tree.map(itemgetter(index), state) for index in range(count)]
