"""When a run stops: after its last step, or when its validation loss no longer falls."""

from dataclasses import replace

import numpy as np

from attnjax.training.group import Group
from attnjax.training.hook import Hook
from attnjax.training.run_progress import RunProgress
from attnjax.training.settings import Training


class EarlyStopping(Hook):
    """Marks the runs that stop after an epoch."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        group = self._group
        for index, run in enumerate(group.runs):
            run.progress = after_epoch(
                run.progress,
                float(values["loss"][index]) if values else None,
                step=group.step,
                per_epoch=group.setup.plan.per_epoch,
                training=group.setup.recipe.training,
            )


def after_epoch(
    progress: RunProgress, loss: float | None, *, step: int, per_epoch: int, training: Training
) -> RunProgress:
    """The progress of a run after an epoch that ended at `step`.

    If the last step cuts an epoch short, its loss does not count as one of the epochs': a run that
    is lengthened later must go on as if it had been longer from the start.

    Args:
        progress: the progress before.
        loss: the validation loss; None: there are no validation examples.
        step: the number of updates so far.
        per_epoch: the number of updates of a whole epoch.
        training: how long the training lasts.
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
