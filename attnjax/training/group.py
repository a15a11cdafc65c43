"""Runs that differ in their seed only, trained in one program."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np

from attnjax.data.batching import Batch, BatchPlan
from attnjax.errors import Interrupted, UserError
from attnjax.training import sharding
from attnjax.training.console import Display
from attnjax.training.member import RunState, stack, unstack
from attnjax.training.metrics import RunningMean
from attnjax.training.objectives.base import Objective
from attnjax.training.optimizers import Optimizer
from attnjax.training.settings import Training
from attnjax.training.step import State, evaluation_step, train_step

SECONDS_BETWEEN_CHECKPOINTS, SECONDS_WITHIN_AN_EPOCH = 60, 600
"""At ends of epochs, which are saved anyway if parameters are averaged; and within one."""

ROWS_AN_EPOCH, FEWEST_STEPS_A_ROW, MOST_STEPS_A_ROW = 20, 10, 50
"""metrics.jsonl has about so many training rows an epoch, and one for so many steps."""


@dataclass(frozen=True, kw_only=True)
class TrainSetup:
    """What the runs of a group have in common.

    Attributes:
        model: see `attnjax.models`.
        plan: the training batches.
        valid: the validation batches; none: there is no validation.
        objective: what is minimised.
        optimizer: how.
        training: how long, and on what.
        several: there are several runs, and all that is computed has an axis of runs. It stays
            when but one is left, so that going on from there is the same program.
    """

    model: Any
    plan: BatchPlan
    valid: list[Batch]
    objective: Objective
    optimizer: Optimizer
    training: Training
    several: bool


class Group:
    """Members at the same step; one that stops leaves, and the rest goes on without it."""

    def __init__(
        self,
        members: list[RunState],
        job: TrainSetup,
        shown: Display,
        interrupted: Callable[[], bool],
    ) -> None:
        self.members, self.job, self.shown, self.interrupted = members, job, shown, interrupted
        self.done = members[0].step
        self.epoch = RunningMean()
        self.began = self.saved = time.monotonic()
        self.seconds = [member.standing.seconds for member in members]
        training = job.training
        self.seeds = job.several
        self.devices = sharding.devices(
            training.parallel, rows=training.batching.batch_size_multiple, seeds=self.seeds
        )
        shared: dict[str, Any] = {
            "model": job.model,
            "objective": job.objective,
            "precision": training.precision,
        }
        step = partial(train_step, transform=job.optimizer.make(), **shared)
        self._step = self.devices.compile(step, donate=True)
        self._evaluate = self.devices.compile(partial(evaluation_step, **shared), donate=False)
        self._hold([member.state for member in members if member.state is not None])

    def train(self) -> None:
        """Train until every member has stopped.

        Raises:
            UserError: a loss or a gradient is not finite.
            Interrupted: Ctrl-C; all members are saved.
        """
        while self.members:
            epoch = self.done // self.job.plan.per_epoch + 1
            last = min(epoch * self.job.plan.per_epoch, self.job.training.steps)
            self._updates(last, epoch)
            if self.done == last:
                self._end_of_epoch(epoch)
            else:
                self._save(epoch_end=False)
            if self.interrupted():
                raise Interrupted(f"{self.members[0].run.folder} is saved at step {self.done}")
            self._leave()

    def _updates(self, last: int, epoch: int) -> None:
        """Update until `last` or Ctrl-C, reading a step's metrics while the next one runs."""
        self.epoch, window, unread = RunningMean(), RunningMean(), None
        batch = self._batch(self.done) if self.done < last else None
        every = self.job.plan.per_epoch // ROWS_AN_EPOCH
        every = min(max(every, FEWEST_STEPS_A_ROW), MOST_STEPS_A_ROW)
        while self.done < last and not self.interrupted():
            self.state, metrics = self._step(self.state, batch)
            self.done += 1
            batch = self._batch(self.done) if self.done < last else None
            if unread is not None:
                window = self._read(*unread, window, epoch, every)
            unread = self.done, metrics
            if self.done < last and self._since_saved() >= SECONDS_WITHIN_AN_EPOCH:
                window = self._read(*unread, window, epoch, every)
                unread = None
                self._save(epoch_end=False)
        if unread is not None:
            self._read(*unread, window, epoch, every)

    def _batch(self, step: int) -> Any:
        batches = [self.job.plan.batch(step, member.run.seed) for member in self.members]
        return self.devices.share(self._stacked(batches))

    def _stacked(self, batches: list[Batch]) -> Any:
        return jax.tree.map(lambda *x: np.stack(x), *batches) if self.seeds else batches[0]

    def _read(
        self, step: int, metrics: Any, window: RunningMean, epoch: int, every: int
    ) -> RunningMean:
        """Look at a step's metrics; returns the window to go on with."""
        values = self._host(metrics)
        self._check(step, "loss", values["loss"])
        self._check(step, "gradient", values["gradient_norm"])
        window.add(values)
        self.epoch.add(values)
        self.shown.step(step, float(values["loss"].mean()))
        if step % every and step % self.job.plan.per_epoch and step != self.job.training.steps:
            return window
        means = window.means()
        rate = float(self.job.optimizer.schedule.rate(step))
        self._write(
            step, epoch, "train", means | {"learning_rate": np.full(len(self.members), rate)}
        )
        self.shown.speed(float(means["tokens_per_second"].sum()))
        return RunningMean()

    def _end_of_epoch(self, epoch: int) -> None:
        """Validate, decide who stops, and save if that is due."""
        values = self._validate()
        if values:
            self._check(self.done, "validation loss", values["loss"])
            self._write(self.done, epoch, "valid", values)
        training = self.job.training
        for index, member in enumerate(self.members):
            standing = member.standing
            if values:
                loss, best = float(values["loss"][index]), standing.best
                better = best is None or loss < best
                standing = replace(
                    standing,
                    best=loss if better else best,
                    waited=0 if better else standing.waited + 1,
                )
            if training.patience is not None and standing.waited >= training.patience:
                standing = replace(standing, stopped="patience")
            if self.done >= training.steps:
                standing = replace(standing, stopped="steps")
            member.standing = standing
        self.shown.epoch(epoch, self.done, self.epoch.means(), values)
        due = self._since_saved() >= SECONDS_BETWEEN_CHECKPOINTS
        stopped = any(member.standing.stopped for member in self.members)
        if due or stopped or training.average > 1 or self.interrupted():
            self._save(epoch_end=True)

    def _validate(self) -> dict[str, np.ndarray]:
        """Means over the validation examples, per run; nothing without examples."""
        if not self.job.valid:
            return {}
        params = self.state.params
        shared = (
            self.devices.share(self._stacked([batch] * len(self.members)))
            for batch in self.job.valid
        )
        totals = [self._evaluate(params, batch) for batch in shared]
        sums: dict[str, tuple[Any, Any]] = {}
        for batch in totals:
            for name, pair in self._host(batch).items():
                total, count = sums.get(name, (0.0, 0.0))
                sums[name] = total + pair[0], count + pair[1]
        return {name: total / count for name, (total, count) in sums.items()}

    def _write(self, step: int, epoch: int, split: str, values: dict[str, np.ndarray]) -> None:
        for index, (member, seconds) in enumerate(zip(self.members, self._seconds(), strict=True)):
            row = {name: float(value[index]) for name, value in values.items()}
            member.record.write(step=step, epoch=epoch, split=split, **row, seconds=seconds)

    def _seconds(self) -> list[float]:
        """Each member's, who share the time equally."""
        share = (time.monotonic() - self.began) / len(self.members)
        return [before + share for before in self.seconds]

    def _check(self, step: int, what: str, values: np.ndarray) -> None:
        for member, value in zip(self.members, values, strict=True):
            if not np.isfinite(value):
                raise UserError(
                    f"{member.run.folder}: the {what} of step {step} is {value}; a lower learning "
                    "rate, a longer warm-up or clipping may help (the checkpoint before it is kept)"
                )

    def _save(self, *, epoch_end: bool) -> None:
        columns = zip(self.members, self._seconds(), self._states(), strict=True)
        for member, seconds, state in columns:
            member.standing = replace(member.standing, seconds=seconds, epoch_end=epoch_end)
            member.checkpoints.save(state, member.standing, keep=self.job.training.average)
        self.saved = time.monotonic()

    def _since_saved(self) -> float:
        return time.monotonic() - self.saved

    def _leave(self) -> None:
        """Go on without the members that have stopped."""
        staying = [n for n, member in enumerate(self.members) if member.standing.stopped is None]
        if len(staying) == len(self.members):
            return
        states, seconds = self._states(), self._seconds()
        self.members = [self.members[n] for n in staying]
        self.seconds, self.began = [seconds[n] for n in staying], time.monotonic()
        if staying:
            self._hold([states[n] for n in staying])

    def _hold(self, states: list[State]) -> None:
        self.state = self.devices.hold(stack(states) if self.seeds else states[0])

    def _states(self) -> list[State]:
        """The members' states, on the host."""
        state = self.devices.read(self.state)
        return unstack(state, len(self.members)) if self.seeds else [state]

    def _host(self, values: Any) -> Any:
        """Scalars from the devices, as arrays with an axis of runs."""
        return jax.tree.map(np.atleast_1d, jax.device_get(self.devices.read(values)))
