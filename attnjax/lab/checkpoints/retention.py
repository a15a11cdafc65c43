"""Which checkpoints are kept, and which of them are the result of a training."""

from collections.abc import Mapping
from math import inf

from attnjax.lab.checkpoints.snapshot import RunProgress
from attnjax.training.settings import EpochOrder, Training


def epoch_ends(saved: Mapping[int, RunProgress], order: EpochOrder) -> list[int]:
    """Return the saved steps at ends of epochs and at the end of the training.

    "last": the latest first; "best": the lowest validation loss first, of equal losses, and without
    any, the earlier step.
    """
    last = max(saved, default=0)
    ends = [
        step
        for step, progress in saved.items()
        if progress.epoch_end or (progress.stopped and step == last)
    ]
    if order == "last":
        return sorted(ends, reverse=True)
    losses = {step: inf if saved[step].loss is None else saved[step].loss for step in ends}
    return sorted(ends, key=lambda step: (losses[step], step))


def reasons(saved: Mapping[int, RunProgress], training: Training) -> dict[int, list[str]]:
    """Return the reasons to keep each checkpoint; one without a reason may be deleted.

    A resume needs the latest checkpoint, and the one before it in case the latest is damaged. Once
    training has ended, the latest is enough. Of the best checkpoints only true ends of epochs count
    here: the end of the training may be within an epoch, and is no end of one if the run is
    lengthened later.
    """
    kept: dict[int, list[str]] = {step: [] for step in sorted(saved)}
    if not saved:
        return kept
    *_, latest = kept
    whole = {step: progress for step, progress in saved.items() if progress.epoch_end}
    averaged = {training.result: training.average}
    last = max(training.keep_last, averaged.get("last", 0))
    best = max(training.keep_best, averaged.get("best", 0))

    def keep(steps: list[int], reason: str) -> None:
        for step in steps:
            kept[step].append(reason)

    keep([latest], "latest")
    if not saved[latest].stopped:
        keep([*kept][-2:-1], "in case the latest is damaged")
    keep(epoch_ends(saved, "last")[:last], f"last {last}" if last > 1 else "last epoch")
    keep(epoch_ends(whole, "best")[:best], f"best {best}" if best > 1 else "best epoch")
    keep(epoch_ends(saved, training.result)[: training.average], "result")
    return kept
