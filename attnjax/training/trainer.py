"""The training loop, from the beginning or from a checkpoint to the end: read `Trainer.fit`."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from typing import Any

import jax
import numpy as np

from attnjax.data.batching import Batch
from attnjax.errors import Diverged, Interrupted, UserError
from attnjax.training import hosts, sharding
from attnjax.training.checkpoint import Checkpoints
from attnjax.training.console import Display
from attnjax.training.early_stopping import after_epoch
from attnjax.training.not_finite import MOST_IN_A_ROW, keep_batch
from attnjax.training.profile import Profile
from attnjax.training.requests import Requests
from attnjax.training.run_state import RunState, stack, unstack
from attnjax.training.saves import Saves
from attnjax.training.schedules import Schedule
from attnjax.training.snapshot import Snapshot
from attnjax.training.stalls import Stalls
from attnjax.training.step import State, evaluation_step, train_step, train_step_at
from attnjax.training.train_log import TrainLog
from attnjax.training.train_setup import TrainSetup


@cache
def _rates(schedule: Schedule, steps: int) -> np.ndarray:
    """The learning rates of all updates."""
    return np.asarray(schedule.rate(np.arange(1, steps + 1)), np.float32)


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
        requests: Requests,
        stalls: Stalls,
        profile: Profile,
        saves: Saves,
    ) -> None:
        self.setup, self.recipe, self.training = setup, setup.recipe, setup.recipe.training
        self.runs, self.devices, self.requests = runs, devices, requests
        self.stalls, self.profile, self.saves = stalls, profile, saves
        self.step = runs[0].step
        self.validated = self.step if runs[0].progress.epoch_end else 0
        self.log = TrainLog(runs, setup, shown)
        self.rates_differ = any(run.run.schedule is not None for run in runs)
        step = train_step_at if self.rates_differ else train_step
        self._train_step = self._compiled(step, donate=True)
        self._evaluation_step = self._compiled(evaluation_step, donate=False)
        self._replicate([run.state for run in runs if run.state is not None])

    def fit(self) -> None:
        """Train until every run has stopped.

        Raises:
            Diverged: a loss or a gradient of every run is not finite.
            Interrupted: a signal of `interruption` came; all runs are saved.
        """
        with closing(self.saves):
            while self.runs:
                self._update(self._epoch_end())
                losses = self._validate() if self.step == self._epoch_end() else None
                if losses is not None:
                    self._end_epoch(losses)
                    self.requests.compare(save=self._save_is_due(epoch_ended=True), wait=True)
                if self.requests.save:
                    self._save()
                if self.requests.signal:
                    self.saves.wait()
                    where = f"{self.runs[0].run.folder} is saved at step {self.step}"
                    raise Interrupted(where, self.requests.signal)
                if losses is not None:
                    self.log.begin_epoch()
                    self._drop_stopped()
            self.saves.wait()

    def _epoch_end(self) -> int:
        """The last step of the epoch; the present step if only its validation is still to come."""
        per_epoch = self.setup.plan.per_epoch
        ended = self.step if self.step > self.validated else self.step + 1
        return min(-(-ended // per_epoch) * per_epoch, self.training.steps)

    def _update(self, end: int) -> None:
        """Update until step `end`, a signal, or a save that is due within the epoch.

        The metrics of a step are read while the next step runs, so that the devices never wait.
        """
        unread = None
        batch = self._batch(self.step) if self.step < end else None
        while self.step < end and not self.requests.signal:
            with self.profile.step(self.step + 1):
                self.state, metrics = self._train_step(self._held(), batch)
            self.profile.stop(metrics)
            self.step += 1
            batch = self._batch(self.step) if self.step < end else None
            if unread is not None:
                self._record(*unread)
            unread = self.step, metrics
            self.saves.check()
            self.requests.compare(save=self._save_is_due(epoch_ended=False), wait=False)
            if self.requests.save:
                break
        if unread is not None:
            self._record(*unread)

    def _held(self) -> Any:
        """The first argument of an update: the state, and the learning rates if they differ."""
        if not self.rates_differ:
            return self.state
        schedules = (run.run.schedule or self.recipe.optimizer.schedule for run in self.runs)
        rates = [_rates(schedule, self.training.steps)[self.step] for schedule in schedules]
        held = np.stack(rates) if self.devices.seeds else rates[0]
        return self.state, self.devices.replicate(held)

    def _batch(self, step: int) -> Any:
        with self.stalls.waiting_for("the data"):
            batches = [self.setup.plan.batch(step, run.run.seed) for run in self.runs]
        return self.devices.shard(self._stacked(batches))

    def _stacked(self, batches: list[Batch]) -> Any:
        return jax.tree.map(lambda *x: np.stack(x), *batches) if self.devices.seeds else batches[0]

    def _record(self, step: int, metrics: Any) -> None:
        """Check that a step's metrics are finite, and log them."""
        with self.stalls.waiting_for("the devices"):
            values = self._fetch(metrics)
        if "skipped" in values:
            self._count_skipped(step, values["skipped"])
        else:
            self._check_finite(step, "loss", values["loss"])
            self._check_finite(step, "gradient", values["gradient_norm"])
        self.log.step(step, values)

    def _count_skipped(self, step: int, skipped: np.ndarray) -> None:
        """Keep the batches of skipped updates; too many of them in a row end a run."""
        for run, skip in zip(self.runs, skipped, strict=True):
            run.skipped = run.skipped + 1 if skip else 0
            if skip:
                self._keep_batch(run, step)
            if run.skipped == MOST_IN_A_ROW and not run.run.may_diverge:
                run.failure = UserError(
                    f"{run.run.folder}: the last {MOST_IN_A_ROW} updates up to step {step} were "
                    f"skipped, because a loss or a gradient was not finite; {self._advice(step)}"
                )
        self._raise_if_all_failed()

    def _keep_batch(self, run: RunState, step: int) -> None:
        if hosts.is_first():
            keep_batch(run.run.folder, step, self.setup.plan.batch(step - 1, run.run.seed))

    def _advice(self, step: int) -> str:
        return (
            "a lower learning rate, a longer warm-up or clipping may help (earlier checkpoints are "
            f"kept; `attnjax replay RUN {step}` says where it arises)"
        )

    def _validate(self) -> dict[str, np.ndarray] | None:
        """Means over the validation examples, a value for each run; {} without examples.

        None: a signal came first. The validation is begun again when the training goes on.
        """
        totals = []
        for batch in self.setup.valid:
            if self.requests.signal:
                return None
            copies = self.devices.shard(self._stacked([batch] * len(self.runs)))
            totals.append(self._evaluation_step(self.state.params, copies))
        sums: dict[str, tuple[Any, Any]] = {}
        for batch in totals:
            if self.requests.signal:
                return None
            for name, pair in self._fetch(batch).items():
                total, count = sums.get(name, (0.0, 0.0))
                sums[name] = total + pair[0], count + pair[1]
        means = {name: total / count for name, (total, count) in sums.items()}
        if means:
            self._check_finite(self.step, "validation loss", means["loss"])
        return means

    def _end_epoch(self, losses: dict[str, np.ndarray]) -> None:
        """Log an epoch, and mark the runs that stop; `losses` has a value for each run."""
        self.validated = self.step
        for index, run in enumerate(self.runs):
            run.progress = after_epoch(
                run.progress,
                float(losses["loss"][index]) if losses else None,
                step=self.step,
                per_epoch=self.setup.plan.per_epoch,
                training=self.training,
            )
        self.log.end_epoch(self.step, losses)

    def _save_is_due(self, *, epoch_ended: bool) -> bool:
        stopped = epoch_ended and any(run.progress.stopped for run in self.runs)
        return stopped or self.saves.due(epoch_ended=epoch_ended)

    def _save(self) -> None:
        """Begin to save all runs; the first process does, the others help to get the states."""
        states = self._states()
        self.saves.begin(self._snapshots(states) if hosts.is_first() else [])
        self.requests.saved()

    def _snapshots(self, states: list[State]) -> list[tuple[Checkpoints, Snapshot]]:
        """What is to be saved of each run that has not diverged, and where."""
        together = tuple(run.run.folder.name for run in self.runs if run.failure is None)
        validated, per_epoch = self.step == self.validated, self.setup.plan.per_epoch
        group = []
        for run, seconds, state in zip(self.runs, self.log.seconds, states, strict=True):
            if run.failure is not None:
                continue
            run.step = self.step
            run.progress = replace(
                run.progress,
                epochs=self.step / per_epoch,
                loss=run.progress.loss if validated else None,
                seconds=seconds,
                epoch_end=validated and self.step % per_epoch == 0,
                together=together,
                log=run.log.end,
            )
            group.append((run.checkpoints, Snapshot.of(state, run.progress)))
        return group

    def _drop_stopped(self) -> None:
        """Drop the runs that have stopped or diverged from the group."""
        ended = [run.progress.stopped or run.failure for run in self.runs]
        staying = [index for index, why in enumerate(ended) if why is None]
        if len(staying) == len(self.runs):
            return
        states = self._states()
        self.runs = [self.runs[n] for n in staying]
        self.log.keep(staying)
        if staying:
            self._replicate([states[n] for n in staying])

    def _check_finite(self, step: int, what: str, values: np.ndarray) -> None:
        """Mark the runs whose value is not finite, and keep their batches; the others go on.

        Raises:
            Diverged: every run of the group has diverged.
        """
        for run, value in zip(self.runs, values, strict=True):
            if not np.isfinite(value) and not run.run.may_diverge and run.failure is None:
                run.failure = UserError(
                    f"{run.run.folder}: the {what} of step {step} is {value}; {self._advice(step)}"
                )
                self._keep_batch(run, step)
        self._raise_if_all_failed()

    def _raise_if_all_failed(self) -> None:
        errors = {run.run.folder: run.failure for run in self.runs if run.failure is not None}
        if len(errors) == len(self.runs):
            raise Diverged(errors)

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
