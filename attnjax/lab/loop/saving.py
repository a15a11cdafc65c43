"""Asynchronous saves of runs that train together, requested by any of the processes."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from attnjax.errors import Interrupted
from attnjax.lab.checkpoints.checkpoint import Checkpoints
from attnjax.lab.checkpoints.snapshot import Snapshot
from attnjax.lab.loop.agreement import Requests
from attnjax.lab.loop.hook import Hook
from attnjax.lab.loop.run_state import RunGroup
from attnjax.training.devices import hosts
from attnjax.training.step import State

# the shortest times between checkpoints at ends of epochs, and within an epoch; every end of an
# epoch is saved if more than the last one is wanted, see `Training.keep_last`
SECONDS_BETWEEN_CHECKPOINTS, SECONDS_WITHIN_AN_EPOCH = 60, 600


class Saving(Hook):
    """Saves all runs where a save is due or a signal came; the last of the hooks.

    Checkpoints are written while the training goes on, one save at a time. An error of a save is
    raised after the next update, or where the next save begins. After a signal `pause` raises
    Interrupted, once all runs are saved.
    """

    def __init__(
        self,
        group: RunGroup,
        requests: Requests,
        before_save: Callable[[], None],
        after_save: Callable[[], None],
    ) -> None:
        self._group, self._requests = group, requests
        self._before_save, self._after_save = before_save, after_save
        self._training, self._last = group.setup.recipe.training, time.monotonic()
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._written = Future[None]()  # the last save
        self._written.set_result(None)

    def dispatched(self, metrics: Any) -> None:
        if self._written.done():
            self._written.result()
        within = time.monotonic() - self._last >= SECONDS_WITHIN_AN_EPOCH
        self._requests.compare(save=within, wait=False)

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        stopped = any(run.progress.stopped for run in self._group.runs)
        due = time.monotonic() - self._last >= SECONDS_BETWEEN_CHECKPOINTS
        save = stopped or due or self._training.needs_every_epoch
        self._requests.compare(save=save, wait=True)

    def pause(self) -> None:
        group = self._group
        if self._requests.save:
            self._save()
        if self._requests.signal:
            self._written.result()
            where = f"{group.runs[0].run.folder} is saved at step {group.step}"
            raise Interrupted(where, self._requests.signal)
        if all(run.progress.stopped or run.failure for run in group.runs):
            self._written.result()

    def close(self) -> None:
        """Wait for the save; if it fails, its error is lost."""
        self._thread.shutdown()

    def _save(self) -> None:
        """Begin to save all runs; the first process does, the others help to get the states."""
        states = self._group.states()
        snapshots = self._snapshots(states) if hosts.is_first() else []
        self._before_save()
        self._written.result()
        self._last = time.monotonic()
        self._written = self._thread.submit(self._write, snapshots)
        self._requests.saved()

    def _write(self, snapshots: list[tuple[Checkpoints, Snapshot]]) -> None:
        """Save all runs, and only then delete older checkpoints; see `open_runs`."""
        for checkpoints, snapshot in snapshots:
            checkpoints.save(snapshot)
        self._after_save()
        for checkpoints, _ in snapshots:
            checkpoints.prune(self._training)

    def _snapshots(self, states: list[State]) -> list[tuple[Checkpoints, Snapshot]]:
        """Return a snapshot of each run that has not diverged, and where it is saved."""
        group, per_epoch = self._group, self._group.setup.plan.per_epoch
        together = tuple(run.run.folder.name for run in group.runs if run.failure is None)
        validated, snapshots = group.step == group.validated, []
        for run, seconds, state in zip(group.runs, group.seconds, states, strict=True):
            if run.failure is not None:
                continue
            run.step = group.step
            run.progress = replace(
                run.progress,
                epochs=group.step / per_epoch,
                loss=run.progress.loss if validated else None,
                seconds=seconds,
                epoch_end=validated and group.step % per_epoch == 0,
                together=together,
                log=run.log.end,
            )
            snapshots.append((run.checkpoints, Snapshot.of(state, run.progress)))
        return snapshots
