"""Runs that train together, and their state on the devices."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.batch_plan import Batch, PackedBatch
from attnjax.training.devices import sharding
from attnjax.training.loop.read_ahead import ReadAhead
from attnjax.training.loop.run_state import RunState
from attnjax.training.loop.stall_watch import StallWatch
from attnjax.training.schedules import Schedule
from attnjax.training.step import State, evaluation_step, train_step, train_step_at
from attnjax.training.train_setup import TrainSetup

STEP_NAME = "update"  # the name of a step in a profiler's trace; its number stands beside it


@cache
def _rates(schedule: Schedule, steps: int) -> np.ndarray:
    return np.asarray(schedule.rate(np.arange(1, steps + 1)), np.float32)


class RunGroup:
    """Runs that are at the same step; when one stops, the others go on without it.

    If `devices.seeds`, all arrays have a leading axis of runs. The axis stays when only one run is
    left, so that a resumed run compiles the same program. Outside of the group nothing knows of it.
    """

    def __init__(
        self, setup: TrainSetup, runs: list[RunState], devices: sharding.Devices, watch: StallWatch
    ) -> None:
        """Put the runs' states on the devices; `watch` is told what is waited for."""
        self.setup, self.runs, self._devices, self._watch = setup, runs, devices, watch
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
        """The batches of the next update, on the devices."""
        began = time.monotonic()
        with self._watch.waiting_for("the data"):
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
        """The sums of each validation batch of all runs, which the devices may still compute."""
        valid = (self.setup.valid_of(run.run.seed) for run in self.runs)
        for batches in zip(*valid, strict=True):
            yield self._evaluation_step(self._state.params, self._shard(batches))

    def read(self, values: Any) -> Any:
        """Scalars from the devices, as host arrays with an axis of runs."""
        with self._watch.waiting_for("the devices"):
            return jax.tree.map(np.atleast_1d, jax.device_get(self._devices.fetch(values)))

    def states(self) -> list[State]:
        """The runs' states, on the host."""
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
        """The first argument of an update: the state, and the learning rates if they differ."""
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
        """What each run has, as one tree: with an axis of runs, or that of the only run."""
        return jax.tree.map(lambda *x: stack(x), *trees) if self._devices.seeds else trees[0]
