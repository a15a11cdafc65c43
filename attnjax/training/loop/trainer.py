"""The training loop, from the beginning or from a checkpoint to the end, and its hooks."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from attnjax.training.loop.agreement import Requests
from attnjax.training.loop.group import RunGroup


class Hook:
    """Something that a training does beside its steps; by default nothing.

    The hooks of a training are called in their order. Values are arrays with an entry for each run.
    """

    def before(self, step: int) -> None:
        """Before update number `step` is handed to the devices, from 1."""

    def dispatched(self, metrics: Any) -> None:
        """When an update was handed to the devices, which may still compute `metrics`."""

    def after(self, step: int, metrics: dict[str, np.ndarray]) -> None:
        """With the metrics of update number `step`, while the next update runs."""

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        """After each epoch, with the means over the validation split; a hook may add to them."""

    def pause(self) -> None:
        """Between two updates, after each epoch and where a save was asked for."""

    def close(self) -> None:
        """At the end of the training, also after an error."""


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
    """Means over the validation examples, a value for each run; {} without examples.

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
