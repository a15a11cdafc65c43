"""The training loop, from the beginning or from a checkpoint to the end: read `fit`."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from attnjax.training.loop.agreement import Requests
from attnjax.training.loop.group import RunGroup
from attnjax.training.loop.hook import Hook


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
