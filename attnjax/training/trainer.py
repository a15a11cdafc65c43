"""Training, from the beginning or from where it was left, to its end: read `Trainer.fit` first."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby
from typing import Any

import jax
import numpy as np
from rich.console import Console

from attnjax.data.batching import Batch, BatchPlan, in_order
from attnjax.data.corpus import Corpus
from attnjax.errors import Interrupted, UserError
from attnjax.training import sharding
from attnjax.training.checkpoint import full_disk
from attnjax.training.console import Display, display
from attnjax.training.interruption import Interruption, interruption
from attnjax.training.metrics_log import RunningMean
from attnjax.training.run_state import Run, RunState, TrainResult, open_runs, stack, unstack
from attnjax.training.schedules import Schedule
from attnjax.training.settings import Recipe
from attnjax.training.step import (
    State,
    evaluation_step,
    initial_state,
    train_step,
    train_step_at,
)

SECONDS_BETWEEN_CHECKPOINTS, SECONDS_WITHIN_AN_EPOCH = 60, 600
"""At ends of epochs, which are saved anyway if parameters are averaged; and within one."""

ROWS_AN_EPOCH, FEWEST_STEPS_A_ROW, MOST_STEPS_A_ROW = 20, 10, 50
"""metrics.jsonl has about so many training rows an epoch, and one for so many steps."""


@dataclass(frozen=True, kw_only=True)
class TrainSetup:
    """A recipe and its data, cut into batches: all that runs of several seeds share.

    Attributes:
        recipe: what decides the training.
        plan: the training batches.
        valid: the validation batches; none: there is no validation.
    """

    recipe: Recipe
    plan: BatchPlan
    valid: tuple[Batch, ...]

    @classmethod
    def of(cls, recipe: Recipe, corpus: Corpus) -> "TrainSetup":
        """Cut the splits "train" and "valid" (if there is one) into batches.

        Raises:
            UserError: as `Training.check`.
        """
        batching, examples = recipe.training.batching, corpus.splits.get("valid")
        recipe.training.check(corpus)
        valid = tuple(batch for _, batch in in_order(examples, batching)) if examples else ()
        return cls(recipe=recipe, plan=batching.plan(corpus.splits["train"]), valid=valid)

    def initial_state(self, seed: int) -> State:
        """The state that the run of a seed begins with.

        It is not compiled: drawing many arrays in one program takes XLA longer than the drawing.
        """
        return self._draw(jax.random.key(seed))

    def state_shapes(self) -> State:
        """The shapes of a run's state, without the state."""
        return jax.eval_shape(self._draw, jax.random.key(0))

    def _draw(self, key: jax.Array) -> State:
        return initial_state(key, self.plan.batch(0, 0), recipe=self.recipe)


def train(
    runs: Sequence[Run], setup: TrainSetup, *, console: Console, title: str = ""
) -> list[TrainResult]:
    """Train runs that differ in their seed and learning rate only, together in one program.

    Each goes on from its folder's latest checkpoint, and the result is bit for bit that of runs
    that were not interrupted. One that had finished is not trained again, unless
    `Training.steps` has grown: then it goes on from its end. A run's folder gets checkpoints,
    metrics.jsonl and TensorBoard's files.

    metrics.jsonl has an object a line: "step", "epoch" (from 1), "split" ("train" or "valid"),
    "seconds" (as in `TrainResult`, so far) and the objective's means over tokens ("loss", "nll",
    "accuracy"). Training rows hold means since the row before, or since an interruption after it,
    and also "learning_rate", "gradient_norm" (before clipping) and "tokens_per_second" (of the
    target).

    Args:
        runs: folders, seeds, and learning rates where these are not the recipe's.
        setup: what is trained, and on what.
        console: where the progress is shown.
        title: the name of the training there; the first run's folder by default.

    Raises:
        UserError: a loss or gradient is not finite, or the disk is full.
        Interrupted: Ctrl-C or SIGTERM came; every run is saved as it is.
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
    """What to say of devices that take no part."""
    count = devices.count + devices.idle
    return (
        f"trains on {devices.count} of {count} devices, because batching.batch_size_multiple is no "
        f"multiple of {count}: --training.batching.batch_size_multiple {count} uses them all"
    )


@cache
def _rates(schedule: Schedule, steps: int) -> np.ndarray:
    """The learning rate of each update."""
    return np.asarray(schedule.rate(np.arange(1, steps + 1)), np.float32)


def _restore(states: Sequence[RunState], setup: TrainSetup) -> None:
    """Read the runs' states where they are saved, and draw them where nothing is."""
    shapes = setup.state_shapes()
    for run in states:
        if run.step:
            run.restore(shapes)
        else:
            run.state = setup.initial_state(run.run.seed)


def _groups(states: Sequence[RunState]) -> list[list[RunState]]:
    """The runs that have not stopped, in groups: those that were saved together stay together."""

    def place(run: RunState) -> tuple[int, tuple[str, ...]]:
        return run.step, run.progress.together

    going = [run for run in states if run.progress.stopped is None]
    return [list(group) for _, group in groupby(sorted(going, key=place), key=place)]


class Trainer:
    """Trains runs that are at the same step; a run that stops leaves, the others go on without it.

    What is computed has a leading axis of seeds if `devices.seeds`. The axis stays when one run is
    left, so that a resumed run is the same program.
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
            Interrupted: Ctrl-C or SIGTERM came; all runs are saved.
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
        """Update up to step `end`, or until a signal came, or a save within the epoch is due.

        A step's metrics are read while the next one runs, so that the devices never wait.
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
        """What the next update starts from: the state, and the learning rates where they differ."""
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
        """Check a step's metrics, and write a row if one is due."""
        values = self._fetch(metrics)
        self._check_finite(step, "loss", values["loss"])
        self._check_finite(step, "gradient", values["gradient_norm"])
        self.row.add(values)
        self.whole_epoch.add(values)
        self.shown.step(step, float(values["loss"].mean()))
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
        """Means over the validation examples, a value a run; nothing without examples."""
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
        """Update every run's progress by its validation loss, and note which runs stop.

        The loss of an epoch that the last step cut short is kept apart: a run that gets more steps
        goes on as if it had always been to have them.
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
        """Save all runs, and only then delete what the save replaces, see `open_runs`."""
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
        """Go on without the runs that have stopped."""
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
        """How long each run was trained; runs that train together share the time equally."""
        share = (time.monotonic() - self.began) / len(self.runs)
        return [before + share for before in self.seconds]

    def _check_finite(self, step: int, what: str, values: np.ndarray) -> None:
        for run, value in zip(self.runs, values, strict=True):
            if not np.isfinite(value) and not run.run.may_diverge:
                raise UserError(
                    f"{run.run.folder}: the {what} of step {step} is {value}; a lower learning "
                    "rate, a longer warm-up or clipping may help (the checkpoint before it is kept)"
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
        """Scalars from the devices, as arrays with an axis of runs."""
        return jax.tree.map(np.atleast_1d, jax.device_get(self.devices.fetch(values)))
