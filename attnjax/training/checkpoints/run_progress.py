"""The progress of a run: everything that a checkpoint holds beside the state."""

from dataclasses import dataclass

from attnjax.training.log.metrics_log import LogEnd


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """The progress of a run at a checkpoint: everything but its state.

    Attributes:
        best: the lowest `loss` at the end of an epoch, or infinity if that of an epoch was not
            finite; None: no epoch has ended.
        waited: the number of epochs since that loss.
        epochs: the number of passes over the data.
        loss: the validation loss of this step, or, if scores decide, the score with its sign
            turned, so that lower is better; None: there is none, because the step is within an
            epoch, or because there are no validation examples.
        seconds: the training time over all resumes, see `TrainResult`.
        epoch_end: whether an epoch has ended at this step, and was validated.
        stopped: why training ended, "steps" or "patience"; None: it has not ended.
        together: the folders' names of all runs that were saved together with this one, its own
            included.
        log: the size and digest of metrics.jsonl.
    """

    best: float | None = None
    waited: int = 0
    epochs: float = 0.0
    loss: float | None = None
    seconds: float = 0.0
    epoch_end: bool = False
    stopped: str | None = None
    together: tuple[str, ...] = ()
    log: LogEnd = LogEnd()
