"""Saves of runs that train together: each asked for by one process, and made by all."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from attnjax.errors import Interrupted
from attnjax.training.checkpoints.background_save import Saves
from attnjax.training.checkpoints.checkpoint import Checkpoints
from attnjax.training.checkpoints.snapshot import Snapshot
from attnjax.training.devices import hosts
from attnjax.training.loop.agreement import Requests
from attnjax.training.loop.group import RunGroup
from attnjax.training.loop.hook import Hook
from attnjax.training.step import State


class Saving(Hook):
    """Saves all runs where a save is due or a signal came; the last of the hooks.

    Raises:
        Interrupted: from `pause`, if a signal came and all runs are saved.
    """

    def __init__(
        self,
        group: RunGroup,
        requests: Requests,
        before_save: Callable[[], None],
        after_save: Callable[[], None],
    ) -> None:
        """Save the runs of a group; the functions are those of `train`."""
        self._group, self._requests = group, requests
        self._saves = Saves(group.setup.recipe.training, before_save, after_save)

    def dispatched(self, metrics: Any) -> None:
        self._saves.check()
        self._requests.compare(save=self._saves.due(epoch_ended=False), wait=False)

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        stopped = any(run.progress.stopped for run in self._group.runs)
        self._requests.compare(save=stopped or self._saves.due(epoch_ended=True), wait=True)

    def pause(self) -> None:
        group = self._group
        if self._requests.save:
            self._save()
        if self._requests.signal:
            self._saves.wait()
            where = f"{group.runs[0].run.folder} is saved at step {group.step}"
            raise Interrupted(where, self._requests.signal)
        if all(run.progress.stopped or run.failure for run in group.runs):
            self._saves.wait()

    def close(self) -> None:
        self._saves.close()

    def _save(self) -> None:
        """Begin to save all runs; the first process does, the others help to get the states."""
        states = self._group.states()
        self._saves.begin(self._snapshots(states) if hosts.is_first() else [])
        self._requests.saved()

    def _snapshots(self, states: list[State]) -> list[tuple[Checkpoints, Snapshot]]:
        """What is to be saved of each run that has not diverged, and where."""
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
