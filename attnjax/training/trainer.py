"""The training loop, from the beginning or from a checkpoint to the end: read `Trainer.fit`."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from itertools import groupby
from typing import Any

import jax
import numpy as np
from rich.console import Console

from attnjax.data.batching import Batch
from attnjax.errors import Interrupted, UserError
from attnjax.training import sharding
from attnjax.training.console import Display, display
from attnjax.training.disk import full_disk
from attnjax.training.interruption import Interruption, interruption
from attnjax.training.metrics_log import RunningMean
from attnjax.training.run_state import Run, RunState, TrainResult, open_runs, stack, unstack
from attnjax.training.schedules import Schedule
from attnjax.training.step import State, evaluation_step, train_step, train_step_at
from attnjax.training.train_setup import TrainSetup

SECONDS_BETWEEN_CHECKPOINTS, SECONDS_WITHIN_AN_EPOCH = 60, 600
"""The shortest times between checkpoints at ends of epochs, and within an epoch.

If parameters are averaged, every end of an epoch is saved.
"""

ROWS_AN_EPOCH, FEWEST_STEPS_A_ROW, MOST_STEPS_A_ROW = 20, 10, 50
"""The rows of metrics.jsonl: about so many per epoch, each for so many steps."""


def train(
    runs: Sequence[Run], setup: TrainSetup, *, console: Console, title: str = ""
) -> list[TrainResult]:
    """Train runs that differ only in their seed and learning rate, together in one program.

    Each run goes on from its latest checkpoint; the result is bit for bit that of runs that were
    not interrupted. A finished run is trained further only if `Training.steps` has grown. Each
    run's folder gets checkpoints, metrics.jsonl and TensorBoard's files.

    metrics.jsonl has an object a line: "step", "epoch" (from 1), "split" ("train" or "valid"),
    "seconds" (as in `TrainResult`, so far) and the objective's means over tokens ("loss", "nll",
    "accuracy"). Training rows hold means since the row before, or since an interruption after it,
    and also "learning_rate", "gradient_norm" (before clipping) and "tokens_per_second" (of the
    target).

    Args:
        runs: folders, seeds, and learning rates that differ from the recipe's.
        setup: the recipe and its batches.
        console: shows the progress.
        title: the name of the training on the console; "": the name of the first run's folder.

    Raises:
        UserError: a loss or a gradient is not finite, or the disk is full.
        Interrupted: a signal of `interruption` came; every run is saved.
    """
    title = title or runs[0].folder.name
    training, several = setup.recipe.training, len(runs) > 1
    devices = sharding.devices(
        training.parallel, rows=training.batching.batch_size_multiple, seeds=several
    )
    if devices.idle:
        console.print(f"{title}: {_idle(devices)}", highlight=False, soft_wrap=True, markup=False)
    with ExitStack() as opened:
        opened.enter_context(full_disk(runs[0].folder))
        interrupted = opened.enter_context(interruption())
        states = open_runs(runs, training, opened)
        _restore(states, setup)
        shown = opened.enter_context(display(console, title=title, steps=training.steps))
        for group in _groups(states):
            Trainer(setup, group, devices, shown, interrupted).fit()
        results = [state.result(training, setup.plan.per_epoch) for state in states]
        if interrupted.signal:
            raise Interrupted(f"{runs[0].folder} is trained", interrupted.signal)
        return results


def _idle(devices: sharding.Devices) -> str:
    """The sentence about devices that are not used."""
    count = devices.count + devices.idle
    return (
        f"trains on {devices.count} of {count} devices, because batching.batch_size_multiple is no "
        f"multiple of {count}: --training.batching.batch_size_multiple {count} uses them all"
    )


@cache
def _rates(schedule: Schedule, steps: int) -> np.ndarray:
    """The learning rates of all updates."""
    return np.asarray(schedule.rate(np.arange(1, steps + 1)), np.float32)


def _restore(states: Sequence[RunState], setup: TrainSetup) -> None:
    """Restore each run's state from its checkpoint; draw the initial state if there is none."""
    shapes = setup.state_shapes()
    for run in states:
        if run.step:
            run.restore(shapes)
        else:
            run.state = setup.initial_state(run.run.seed)


def _groups(states: Sequence[RunState]) -> list[list[RunState]]:
    """The runs that have not stopped, in groups that were saved together."""

    def place(run: RunState) -> tuple[int, tuple[str, ...]]:
        return run.step, run.progress.together

    going = [run for run in states if run.progress.stopped is None]
    return [list(group) for _, group in groupby(sorted(going, key=place), key=place)]


class Trainer:
    """Trains runs that are at the same step; when one stops, the others go on without it.

    If `devices.seeds`, all arrays have a leading axis of seeds. The axis stays when only one run is
    left, so that a resumed run compiles the same program.
    """

    def __init__(
        self,
        setup: TrainSetup,
        runs: list[RunState],
        devices: sharding.Devices,
        shown: Display,
        interrupted: Interruption,
    ) -> None:
        self.setup, self.recipe, self.training = setup, setup.recipe, setup.recipe.training
        self.runs, self.devices, self.shown = runs, devices, shown
        self.interrupted = interrupted
        self.step = runs[0].step
        self.began = self.saved = time.monotonic()
        self.seconds = [run.progress.seconds for run in runs]
        self.row, self.whole_epoch = RunningMean(), RunningMean()
        self.rates_differ = any(run.run.schedule is not None for run in runs)
        step = train_step_at if self.rates_differ else train_step
        self._train_step = self._compiled(step, donate=True)
        self._evaluation_step = self._compiled(evaluation_step, donate=False)
        self._replicate([run.state for run in runs if run.state is not None])

    def fit(self) -> None:
        """Train until every run has stopped.

        Raises:
            UserError: a loss or a gradient is not finite.
            Interrupted: a signal of `interruption` came; all runs are saved.
        """
        per_epoch = self.setup.plan.per_epoch
        while self.runs:
            self.epoch = self.step // per_epoch + 1
            end = min(self.epoch * per_epoch, self.training.steps)
            self._update(end)
            epoch_ended = self.step == end
            if epoch_ended:
                losses = self._validate()
                self._stop_early(losses)
                self.shown.epoch(self.epoch, self.step, self.whole_epoch.means(), losses)
            if self._save_is_due(epoch_ended):
                self._save()
            if self.interrupted.signal:
                where = f"{self.runs[0].run.folder} is saved at step {self.step}"
                raise Interrupted(where, self.interrupted.signal)
            if epoch_ended:
                self.row, self.whole_epoch = RunningMean(), RunningMean()
                self._drop_stopped()

    def _update(self, end: int) -> None:
        """Update until step `end`, a signal, or a save that is due within the epoch.

        The metrics of a step are read while the next step runs, so that the devices never wait.
        """
        unread = None
        batch = self._batch(self.step) if self.step < end else None
        while self.step < end and not self.interrupted:
            self.state, metrics = self._train_step(self._held(), batch)
            self.step += 1
            batch = self._batch(self.step) if self.step < end else None
            if unread is not None:
                self._record(*unread)
            unread = self.step, metrics
            if self._save_is_due(epoch_ended=False):
                break
        if unread is not None:
            self._record(*unread)

    def _held(self) -> Any:
        """The first argument of an update: the state, and the learning rates if they differ."""
        if not self.rates_differ:
            return self.state
        rates = [_rates(schedule, self.training.steps)[self.step] for schedule in self._schedules()]
        held = np.stack(rates) if self.devices.seeds else rates[0]
        return self.state, self.devices.replicate(held)

    def _schedules(self) -> list[Schedule]:
        return [run.run.schedule or self.recipe.optimizer.schedule for run in self.runs]

    def _batch(self, step: int) -> Any:
        batches = [self.setup.plan.batch(step, run.run.seed) for run in self.runs]
        return self.devices.shard(self._stacked(batches))

    def _stacked(self, batches: list[Batch]) -> Any:
        return jax.tree.map(lambda *x: np.stack(x), *batches) if self.devices.seeds else batches[0]

    def _record(self, step: int, metrics: Any) -> None:
        """Check that a step's metrics are finite, and write a row if one is due."""
        values = self._fetch(metrics)
        self._check_finite(step, "loss", values["loss"])
        self._check_finite(step, "gradient", values["gradient_norm"])
        self.row.add(values)
        self.whole_epoch.add(values)
        self.shown.step(step, values["loss"])
        per_epoch = self.setup.plan.per_epoch
        every = min(max(per_epoch // ROWS_AN_EPOCH, FEWEST_STEPS_A_ROW), MOST_STEPS_A_ROW)
        if step % every and step % per_epoch and step != self.training.steps:
            return
        means = self.row.means()
        rates = np.array([float(schedule.rate(step)) for schedule in self._schedules()])
        self._write(step, "train", means | {"learning_rate": rates})
        self.shown.speed(float(means["tokens_per_second"].sum()))
        self.row = RunningMean()

    def _validate(self) -> dict[str, np.ndarray]:
        """Means over the validation examples, a value for each run; {} without examples."""
        if not self.setup.valid:
            return {}
        copies = (self._stacked([batch] * len(self.runs)) for batch in self.setup.valid)
        totals = [
            self._evaluation_step(self.state.params, self.devices.shard(batch)) for batch in copies
        ]
        sums: dict[str, tuple[Any, Any]] = {}
        for batch in totals:
            for name, pair in self._fetch(batch).items():
                total, count = sums.get(name, (0.0, 0.0))
                sums[name] = total + pair[0], count + pair[1]
        means = {name: total / count for name, (total, count) in sums.items()}
        self._check_finite(self.step, "validation loss", means["loss"])
        self._write(self.step, "valid", means)
        return means

    def _stop_early(self, losses: dict[str, np.ndarray]) -> None:
        """Update the progress of each run by its validation loss, and mark the runs that stop.

        If the last step cuts an epoch short, that loss is kept apart (`last_loss`): a run that is
        lengthened later must go on as if it had been longer from the start.
        """
        whole = self.step % self.setup.plan.per_epoch == 0
        for index, run in enumerate(self.runs):
            progress = run.progress
            loss = float(losses["loss"][index]) if losses else None
            if loss is not None and not np.isfinite(loss):
                progress = replace(progress, best=np.inf, waited=progress.waited + 1)
            elif loss is not None and not whole:
                progress = replace(progress, last_loss=loss)
            elif loss is not None and (progress.best is None or loss < progress.best):
                progress = replace(progress, best=loss, waited=0)
            elif loss is not None:
                progress = replace(progress, waited=progress.waited + 1)
            if self.training.patience is not None and progress.waited >= self.training.patience:
                progress = replace(progress, stopped="patience")
            if self.step >= self.training.steps:
                progress = replace(progress, stopped="steps")
            run.progress = progress

    def _save_is_due(self, epoch_ended: bool) -> bool:
        since = time.monotonic() - self.saved
        if not epoch_ended:
            return bool(self.interrupted) or since >= SECONDS_WITHIN_AN_EPOCH
        stopped = any(run.progress.stopped for run in self.runs)
        averaged = self.training.average > 1
        due = since >= SECONDS_BETWEEN_CHECKPOINTS
        return bool(self.interrupted) or stopped or averaged or due

    def _save(self) -> None:
        """Save all runs, and only then delete older checkpoints; see `open_runs`."""
        together = tuple(run.run.folder.name for run in self.runs)
        for run, seconds, state in zip(self.runs, self._seconds(), self._states(), strict=True):
            run.step = self.step
            run.progress = replace(
                run.progress,
                seconds=seconds,
                epoch_end=self.step % self.setup.plan.per_epoch == 0,
                together=together,
                log=run.log.end,
            )
            run.checkpoints.save(state, run.progress)
        for run in self.runs:
            run.checkpoints.prune(keep=self.training.average)
        self.saved = time.monotonic()

    def _drop_stopped(self) -> None:
        """Drop the runs that have stopped from the group."""
        staying = [n for n, run in enumerate(self.runs) if run.progress.stopped is None]
        if len(staying) == len(self.runs):
            return
        states, seconds = self._states(), self._seconds()
        self.runs = [self.runs[n] for n in staying]
        self.seconds, self.began = [seconds[n] for n in staying], time.monotonic()
        if staying:
            self._replicate([states[n] for n in staying])

    def _write(self, step: int, split: str, values: dict[str, np.ndarray]) -> None:
        """Add a row to every run's metrics.jsonl."""
        for index, (run, seconds) in enumerate(zip(self.runs, self._seconds(), strict=True)):
            row = {name: float(value[index]) for name, value in values.items()}
            run.log.write(step=step, epoch=self.epoch, split=split, **row, seconds=seconds)

    def _seconds(self) -> list[float]:
        """The training time of each run; runs that train together share the time equally."""
        share = (time.monotonic() - self.began) / len(self.runs)
        return [before + share for before in self.seconds]

    def _check_finite(self, step: int, what: str, values: np.ndarray) -> None:
        for run, value in zip(self.runs, values, strict=True):
            if not np.isfinite(value) and not run.run.may_diverge:
                raise UserError(
                    f"{run.run.folder}: the {what} of step {step} is {value}; a lower learning "
                    "rate, a longer warm-up or clipping may help (earlier checkpoints are kept)"
                )

    def _compiled(self, step: Callable[..., Any], *, donate: bool) -> Callable[[Any, Any], Any]:
        return self.devices.compile(partial(step, recipe=self.recipe), donate=donate)

    def _replicate(self, states: list[State]) -> None:
        self.state = self.devices.replicate(stack(states) if self.devices.seeds else states[0])

    def _states(self) -> list[State]:
        """The runs' states, on the host."""
        state = self.devices.fetch(self.state)
        return unstack(state, len(self.runs)) if self.devices.seeds else [state]

    def _fetch(self, values: Any) -> Any:
        """Scalars from the devices, as host arrays with an axis of runs."""
        return jax.tree.map(np.atleast_1d, jax.device_get(self.devices.fetch(values)))
