"""The training loop, from the beginning or from a checkpoint to the end: read `Trainer.fit`."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from attnjax.training.loop.agreement import Requests
from attnjax.training.loop.group import RunGroup
from attnjax.training.loop.hook import Hook


class Trainer:
    """Trains a group of runs; everything but the steps is done by hooks."""

    def __init__(self, group: RunGroup, requests: Requests, hooks: Sequence[Hook]) -> None:
        self.group, self._requests, self._hooks = group, requests, hooks

    def fit(self) -> None:
        """Train until every run has stopped.

        Raises:
            Diverged: a loss or a gradient of every run is not finite.
            Interrupted: a signal of `interruption` came; all runs are saved.
        """
        with ExitStack() as opened:
            opened.callback(self.group.close)
            for hook in self._hooks:
                opened.callback(hook.close)
            while self.group.runs:
                self._update()
                ended = self.group.step == self.group.epoch_end
                values = self._validate() if ended else None
                if values is not None:
                    self.group.validated = self.group.step
                    for hook in self._hooks:
                        hook.epoch(values)
                for hook in self._hooks:
                    hook.pause()
                if values is not None:
                    self.group.drop_stopped()

    def _update(self) -> None:
        """Update until the epoch ends, a signal comes, or a save is due.

        The metrics of a step are read while the next step runs, so that the devices never wait.
        """
        group, end = self.group, self.group.epoch_end
        unread = None
        batch = group.batch() if group.step < end else None
        while group.step < end and not self._requests.save:
            for hook in self._hooks:
                hook.before(group.step + 1)
            metrics = group.update(batch)
            for hook in self._hooks:
                hook.dispatched(metrics)
            batch = group.batch() if group.step < end else None
            if unread is not None:
                self._read(*unread)
            unread = group.step, metrics
        if unread is not None:
            self._read(*unread)

    def _read(self, step: int, metrics: Any) -> None:
        values = self.group.read(metrics)
        for hook in self._hooks:
            hook.after(step, values)

    def _validate(self) -> dict[str, np.ndarray] | None:
        """Means over the validation examples, a value for each run; {} without examples.

        None: a signal came first. The validation is begun again when the training goes on.
        """
        sums, unread = dict[str, tuple[Any, Any]](), list[Any]()
        for batch in self.group.validation():
            if self._requests.signal:
                return None
            unread.append(batch)
        for batch in unread:
            if self._requests.signal:
                return None
            for name, (total, count) in self.group.read(batch).items():
                before = sums.get(name, (0.0, 0.0))
                sums[name] = before[0] + total, before[1] + count
        return {name: total / count for name, (total, count) in sums.items()}
