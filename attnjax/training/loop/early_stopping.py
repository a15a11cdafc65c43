"""When a run stops: after its last step, or when its validation no longer gets better."""

from dataclasses import replace

import numpy as np

from attnjax.training.checkpoints.run_progress import RunProgress
from attnjax.training.loop.group import RunGroup
from attnjax.training.loop.hook import Hook
from attnjax.training.loop.validation_score import ValidationScore
from attnjax.training.settings import Training


class EarlyStopping(Hook):
    """Marks the runs that stop after an epoch, by the validation loss or by a score."""

    def __init__(self, group: RunGroup, by: ValidationScore | None) -> None:
        self._group, self._by = group, by

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        group, by = self._group, self._by
        costs = None
        if values:
            costs = values["loss"] if by is None else -by.sign * values[by.name]
        for index, run in enumerate(group.runs):
            run.progress = after_epoch(
                run.progress,
                None if costs is None else float(costs[index]),
                step=group.step,
                per_epoch=group.setup.plan.per_epoch,
                training=group.setup.recipe.training,
            )


def after_epoch(
    progress: RunProgress, loss: float | None, *, step: int, per_epoch: int, training: Training
) -> RunProgress:
    """The progress of a run after an epoch that ended at `step`.

    If the last step cuts an epoch short, its loss does not count as one of the epochs': a run that
    is lengthened later must go on as if it had been longer from the start. The lower the loss, the
    better: it is the validation loss, or a score with its sign turned; None: there are no
    validation examples.
    """
    if loss is not None and not np.isfinite(loss):
        loss = np.inf
        progress = replace(progress, best=np.inf, waited=progress.waited + 1)
    elif loss is not None and not step % per_epoch:
        lowest = progress.best is None or loss < progress.best
        waited = 0 if lowest else progress.waited + 1
        progress = replace(progress, best=loss if lowest else progress.best, waited=waited)
    progress = replace(progress, loss=loss)
    if training.patience is not None and progress.waited >= training.patience:
        progress = replace(progress, stopped="patience")
    if step >= training.steps:
        progress = replace(progress, stopped="steps")
    return progress
