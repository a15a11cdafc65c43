"""Train runs of one recipe together, each from its latest checkpoint, to their ends."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console

from attnjax.config.console import print_line
from attnjax.errors import Diverged, Interrupted
from attnjax.lab.checkpoints.disk import writable
from attnjax.lab.log.console import Display
from attnjax.lab.loop.agreement import Requests
from attnjax.lab.loop.finite_check import FiniteCheck
from attnjax.lab.loop.hook import Hook
from attnjax.lab.loop.run_state import Run, RunGroup, RunState, TrainResult, open_runs
from attnjax.lab.loop.saving import Saving
from attnjax.lab.loop.train_log import TrainLog
from attnjax.lab.loop.validation import Validation, ValidationScore
from attnjax.training.devices import hosts, sharding
from attnjax.training.train_setup import TrainSetup

PROFILE = "profile"  # the folder of a trace, in that of the group's first run
STEPS_BEFORE_PROFILE = 2  # the steps before the trace: the first compiles


def train(
    runs: Sequence[Run],
    setup: TrainSetup,
    *,
    console: Console,
    title: str = "",
    stacked: bool | None = None,
    before_save: Callable[[], None] = lambda: None,
    after_save: Callable[[], None] = lambda: None,
    profiled_steps: int = 0,
    score: ValidationScore | None = None,
) -> list[TrainResult]:
    """Train runs that differ only in their seed and learning rate, together in one program.

    Each run goes on from its latest checkpoint; the result is bit for bit that of runs that were
    not interrupted. A finished run is trained further only if `Training.steps` has grown. Each
    run's folder gets checkpoints, metrics.jsonl (see `TrainLog`) and TensorBoard's files.

    All processes call this, with the same runs; the first has their folders and the results.

    `stacked` says whether arrays have an axis of runs, which runs that go on must have as before;
    None: if there are several. `before_save` is called before anything is saved, and its errors end
    the training; `after_save` when all runs are saved, before earlier checkpoints are deleted. A
    trace is written of `profiled_steps` steps.

    Raises:
        Diverged: a loss or a gradient is not finite. The other runs are trained to their ends.
        UserError: a folder cannot be written to.
        Interrupted: a signal came; every run is saved.
    """
    title = title or runs[0].folder.name
    training = setup.recipe.training
    devices = sharding.devices(
        training.parallel,
        rows=training.batching.batch_size_multiple,
        seeds=len(runs) > 1 if stacked is None else stacked,
    )

    def say(sentence: str) -> None:
        print_line(console, f"{title}: {sentence}")

    for remark in _remarks(devices, setup):
        say(remark)
    with ExitStack() as opened:
        # in JAX 0.12 JAX_DEBUG_NANS alone is forgotten once a scan or a remat was traced
        opened.enter_context(jax.debug_nans(jax.config.jax_debug_nans))
        opened.enter_context(writable(runs[0].folder))
        requests = Requests()
        opened.enter_context(requests.noticing_signals())
        states = open_runs(runs, training, opened)
        _restore(states, setup)
        shown = opened.enter_context(closing(Display(console, title=title, steps=training.steps)))
        for group in _groups(states):
            together = RunGroup(setup, group, devices)
            hooks = [
                Profile(group[0].run.folder, profiled_steps),
                FiniteCheck(together),
                Validation(together, score),
                TrainLog(together, shown),
                Saving(together, requests, before_save, after_save),
            ]
            fit(together, requests, hooks)
        if failed := {run.run.folder: run.failure for run in states if run.failure is not None}:
            raise Diverged(failed)
        finished = states if hosts.is_first() else []
        results = [run.result(training, setup.plan.per_epoch) for run in finished]
        requests.compare(save=False, wait=True)
        if requests.signal:
            raise Interrupted(f"{runs[0].folder} is trained", requests.signal)
        return results


def _remarks(devices: sharding.Devices, setup: TrainSetup) -> Iterator[str]:
    """Yield remarks on devices that are idle or compute only padding."""
    count, all_devices = devices.count, devices.count + devices.idle
    if devices.idle:
        yield (
            f"trains on {count} of {all_devices} devices, because batching.batch_size_multiple is "
            f"no multiple of {all_devices}: --training.batching.batch_size_multiple {all_devices} "
            "uses them all"
        )
    examples = setup.plan.count
    if count > examples:
        yield (
            f"trains on {count} devices with {examples} training examples: at least "
            f"{count - examples} devices only ever compute padding"
        )


def _restore(states: Sequence[RunState], setup: TrainSetup) -> None:
    """Restore or draw the state of each run; the first process does, and gives it to the others."""
    shapes = cache(setup.state_shapes)
    for run in states:
        if not hosts.is_first():
            run.state = shapes()
        elif run.step:
            run.state = run.checkpoints.restore(run.step, shapes())
        else:
            run.state = setup.initial_state(run.run.seed)
        run.state = hosts.broadcast(run.state)


def _groups(states: Sequence[RunState]) -> list[list[RunState]]:
    """Return the runs that have not stopped, in groups that were saved together."""

    def saved(run: RunState) -> tuple[int, tuple[str, ...]]:
        return run.step, run.progress.together

    going = [run for run in states if run.progress.stopped is None]
    return [list(group) for _, group in groupby(sorted(going, key=saved), key=saved)]


def fit(group: RunGroup, requests: Requests, hooks: Sequence[Hook]) -> None:
    """Train a group of runs until all have stopped; hooks do everything but the steps."""
    with ExitStack() as opened:
        for part in (group, *hooks):
            opened.callback(part.close)
        while group.runs:
            update(group, requests, hooks)
            ended = group.step == group.epoch_end
            values = validate(group, requests) if ended else None
            if values is not None:
                group.validated = group.step
                for hook in hooks:
                    hook.epoch(values)
            for hook in hooks:
                hook.pause()
            if values is not None:
                group.drop_stopped()


def update(group: RunGroup, requests: Requests, hooks: Sequence[Hook]) -> None:
    """Update until the epoch ends, a signal comes, or a save is due.

    The metrics of a step are read while the next step runs, so that the devices never wait.
    """

    def read(step: int, metrics: Any) -> None:
        values = group.read(metrics)
        for hook in hooks:
            hook.after(step, values)

    end, unread = group.epoch_end, None
    batch = group.batch() if group.step < end else None
    while group.step < end and not requests.save:
        for hook in hooks:
            hook.before(group.step + 1)
        metrics = group.update(batch)
        for hook in hooks:
            hook.dispatched(metrics)
        batch = group.batch() if group.step < end else None
        if unread is not None:
            read(*unread)
        unread = group.step, metrics
    if unread is not None:
        read(*unread)


def validate(group: RunGroup, requests: Requests) -> dict[str, np.ndarray] | None:
    """Return means over the validation examples, a value for each run; {} without examples.

    None: a signal came first. The validation is begun again when the training goes on.
    """
    sums, unread = dict[str, tuple[Any, Any]](), list[Any]()
    for batch in group.validation():
        if requests.signal:
            return None
        unread.append(batch)
    for batch in unread:
        if requests.signal:
            return None
        for name, (total, count) in group.read(batch).items():
            before = sums.get(name, (0.0, 0.0))
            sums[name] = before[0] + total, before[1] + count
    return {name: total / count for name, (total, count) in sums.items()}


class Profile(Hook):
    """A trace of a few steps, which opens in Perfetto (ui.perfetto.dev) and in TensorBoard."""

    def __init__(self, folder: Path, steps: int) -> None:
        self._folder, self._steps, self._seen, self._running = folder / PROFILE, steps, 0, False

    def before(self, step: int) -> None:
        if self._steps and self._seen == STEPS_BEFORE_PROFILE:
            jax.profiler.start_trace(self._folder, create_perfetto_trace=True)
            self._running = True
        self._seen += 1

    def dispatched(self, metrics: Any) -> None:
        if self._running and self._seen == STEPS_BEFORE_PROFILE + self._steps:
            jax.block_until_ready(metrics)
            self.close()

    def close(self) -> None:
        if self._running:
            jax.profiler.stop_trace()
            self._running = False
