"""When a run stops: after its last step, or when its validation loss no longer falls."""

from dataclasses import replace

import numpy as np

from attnjax.training.checkpoint import RunProgress
from attnjax.training.settings import Training


def after_epoch(
    progress: RunProgress, loss: float | None, *, step: int, per_epoch: int, training: Training
) -> RunProgress:
    """The progress of a run after an epoch that ended at `step`.

    If the last step cuts an epoch short, its loss is kept apart (`last_loss`): a run that is
    lengthened later must go on as if it had been longer from the start.

    Args:
        progress: the progress before.
        loss: the validation loss; None: there are no validation examples.
        step: the number of updates so far.
        per_epoch: the number of updates of a whole epoch.
        training: how long the training lasts.
    """
    if loss is not None and not np.isfinite(loss):
        progress = replace(progress, best=np.inf, waited=progress.waited + 1)
    elif loss is not None and step % per_epoch:
        progress = replace(progress, last_loss=loss)
    elif loss is not None and (progress.best is None or loss < progress.best):
        progress = replace(progress, best=loss, waited=0)
    elif loss is not None:
        progress = replace(progress, waited=progress.waited + 1)
    if training.patience is not None and progress.waited >= training.patience:
        progress = replace(progress, stopped="patience")
    if step >= training.steps:
        progress = replace(progress, stopped="steps")
    return progress
