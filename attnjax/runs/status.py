"""The status of a run: finished, being trained, failed, begun, or missing."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from attnjax.runs import failures
from attnjax.runs.lease import holder
from attnjax.runs.manifest import Manifest
from attnjax.runs.run_folder import Verified, finished
from attnjax.training.checkpoints.checkpoint import latest_step


@dataclass(frozen=True)
class RunStatus:
    """The status of a run.

    Attributes:
        state: done: it is finished, and its files are whole; failed: it did the last time, and no
            process trains it; begun: it was interrupted after the checkpoint of `step`; missing: it
            was never started, or has no checkpoint yet.
        step: that of its last checkpoint, unless it is done.
        detail: which process is running it, or why it failed.
    """

    state: Literal["done", "running", "failed", "begun", "missing"]
    step: int = 0
    detail: str = ""


def status(folder: Path, wanted: Manifest, verified: Verified) -> RunStatus:
    """The status of the run in a folder; a finished run of fewer steps is not done."""
    if finished(folder, wanted, verified) is not None:
        return RunStatus("done")
    step = latest_step(folder)
    if (process := holder(folder)) is not None:
        return RunStatus("running", step, str(process))
    if (reason := failures.own_reason(folder)) is not None:
        return RunStatus("failed", step, reason)
    return RunStatus("begun" if step else "missing", step)
