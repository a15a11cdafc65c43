"""Runs that train together: their folders, seeds, progress, batches, and states on the devices."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.config.read_json import read_record
from attnjax.data.batch_plan import Batch, PackedBatch
from attnjax.errors import UserError
from attnjax.lab.checkpoints.checkpoint import Checkpoints
from attnjax.lab.checkpoints.snapshot import RunProgress
from attnjax.lab.log.metrics_log import MetricsLog
from attnjax.training.devices import hosts, sharding
from attnjax.training.schedules import Schedule
from attnjax.training.settings import Training
from attnjax.training.step import State, evaluation_step, train_step, train_step_at
from attnjax.training.train_setup import TrainSetup

STEP_NAME = "update"  # the name of a step in a profiler's trace; its number stands beside it
AHEAD = 2  # the number of batches that wait for their step, on the devices already
SECONDS_TO_END = 10.0  # how long the end of a training waits for the batch that is being made


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
    """Open runs, each at its last checkpoint that is complete, or at the beginning.

    Only the first process reads and writes their files; it broadcasts the steps of the runs.

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
    """Return the progress of a run at the step that it resumes from; delete later checkpoints."""
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


@cache
def _rates(schedule: Schedule, steps: int) -> np.ndarray:
    return np.asarray(schedule.rate(np.arange(1, steps + 1)), np.float32)


class RunGroup:
    """Runs that are at the same step; when one stops, the others go on without it.

    If `devices.seeds`, all arrays have a leading axis of runs. The axis stays when only one run is
    left, so that a resumed run compiles the same program. Outside of the group nothing knows of it.
    """

    def __init__(self, setup: TrainSetup, runs: list[RunState], devices: sharding.Devices) -> None:
        """Put the runs' states on the devices."""
        self.setup, self.runs, self._devices = setup, runs, devices
        self.step = runs[0].step
        self.validated = self.step if runs[0].progress.epoch_end else 0  # after this step
        self.waited = 0.0  # the seconds that updates have waited for their batches
        self._seconds, self._began = [run.progress.seconds for run in runs], time.monotonic()
        recipe = setup.recipe
        self._ahead = ReadAhead(self._batch, end=recipe.training.steps)
        self._rates_differ = any(run.run.schedule is not None for run in runs)
        update = partial(train_step_at if self._rates_differ else train_step, recipe=recipe)
        self._train_step = devices.compile(update, donate=True)
        evaluate = partial(evaluation_step, recipe=recipe)
        self._evaluation_step = devices.compile(evaluate, donate=False)
        self._place([run.state for run in runs if run.state is not None])

    @property
    def seconds(self) -> list[float]:
        """The training time of each run; runs that train together share the time equally."""
        share = (time.monotonic() - self._began) / len(self.runs)
        return [before + share for before in self._seconds]

    @property
    def epoch_end(self) -> int:
        """The last step of the epoch; the present step if only its validation is still to come."""
        per_epoch = self.setup.plan.per_epoch
        ended = self.step if self.step > self.validated else self.step + 1
        return min(-(-ended // per_epoch) * per_epoch, self.setup.recipe.training.steps)

    def batch(self) -> Any:
        """Return the batches of the next update, on the devices."""
        began = time.monotonic()
        batch = self._ahead.take(self.step)
        self.waited += time.monotonic() - began
        return batch

    def close(self) -> None:
        self._ahead.close()

    def update(self, batch: Any) -> Any:
        """Update all runs; returns the metrics, which the devices may still compute."""
        with jax.profiler.StepTraceAnnotation(STEP_NAME, step_num=self.step + 1):
            self._state, metrics = self._train_step(self._with_rates(), batch)
        self.step += 1
        return metrics

    def validation(self) -> Iterator[Any]:
        """Yield the sums over each validation batch of all runs, perhaps still being computed."""
        valid = (self.setup.valid_of(run.run.seed) for run in self.runs)
        for batches in zip(*valid, strict=True):
            yield self._evaluation_step(self._state.params, self._shard(batches))

    def read(self, values: Any) -> Any:
        """Fetch scalars from the devices, as host arrays with an axis of runs."""
        return jax.tree.map(np.atleast_1d, jax.device_get(self._devices.fetch(values)))

    def states(self) -> list[State]:
        """Fetch the states of all runs to the host."""
        state = self._devices.fetch(self._state)
        if not self._devices.seeds:
            return [state]
        stacked = jax.device_get(state)
        return [jax.tree.map(itemgetter(index), stacked) for index in range(len(self.runs))]

    def drop_stopped(self) -> None:
        """Go on without the runs that have stopped or diverged."""
        ended = [run.progress.stopped or run.failure for run in self.runs]
        staying = [index for index, why in enumerate(ended) if why is None]
        if len(staying) == len(self.runs):
            return
        states, seconds = self.states(), self.seconds
        self._ahead.close()  # its batches are those of the runs so far
        self.runs = [self.runs[index] for index in staying]
        self._seconds, self._began = [seconds[index] for index in staying], time.monotonic()
        if staying:
            self._place([states[index] for index in staying])

    def _batch(self, step: int) -> Any:
        seeds = [run.run.seed for run in self.runs]
        return self._shard([self.setup.plan_of(seed).batch(step, seed) for seed in seeds])

    def _with_rates(self) -> Any:
        """Return what an update needs: the state, and the learning rates if they differ."""
        if not self._rates_differ:
            return self._state
        recipe = self.setup.recipe
        schedules = (run.run.schedule or recipe.optimizer.schedule for run in self.runs)
        rates = [_rates(schedule, recipe.training.steps)[self.step] for schedule in schedules]
        return self._state, self._devices.replicate(self._together(rates, np.stack))

    def _shard(self, batches: Sequence[Batch | PackedBatch]) -> Any:
        return self._devices.shard(self._together(batches, np.stack))

    def _place(self, states: Sequence[State]) -> None:
        self._state = self._devices.replicate(self._together(states, jnp.stack))

    def _together(self, trees: Sequence[Any], stack: Callable[..., Any]) -> Any:
        """Stack the runs' trees along a new leading axis. A single run's tree stays as it is."""
        return jax.tree.map(lambda *x: stack(x), *trees) if self._devices.seeds else trees[0]


class ReadAhead[T]:
    """Makes the values make(number) of the numbers before `end`, in a thread, a few ahead."""

    def __init__(self, make: Callable[[int], T], *, end: int) -> None:
        self._make, self._end = make, end
        self._values: dict[int, Future[T]] = {}
        self._thread: Thread | None = None

    def take(self, number: int) -> T:
        """Return the value of a number, or raise its error; the next values are made meanwhile."""
        if number not in self._values:
            self.close()
            self._wanted = SimpleQueue[tuple[int, Future[T]] | None]()
            # a daemon: no value that takes for ever keeps the program from ending
            self._thread = Thread(
                target=_make_all, args=(self._make, self._wanted), name="read ahead", daemon=True
            )
            self._thread.start()
        for wanted in range(number, min(number + AHEAD + 1, self._end)):
            if wanted not in self._values:
                self._values[wanted] = Future()
                self._wanted.put((wanted, self._values[wanted]))
        return self._values.pop(number).result()

    def close(self) -> None:
        for value in self._values.values():
            value.cancel()
        self._values.clear()
        if self._thread is not None:
            self._wanted.put(None)
            self._thread.join(SECONDS_TO_END)
        self._thread = None


def _make_all[T](
    make: Callable[[int], T], wanted: SimpleQueue[tuple[int, Future[T]] | None]
) -> None:
    while (item := wanted.get()) is not None:
        number, value = item
        if value.set_running_or_notify_cancel():
            try:
                value.set_result(make(number))
            except BaseException as error:  # raised by `take`
                value.set_exception(error)
