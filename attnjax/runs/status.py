"""The status of a run: finished, being trained, failed, begun, or missing."""

from dataclasses import dataclass
from pathlib import Path

from attnjax.runs import failures
from attnjax.runs.lease import Holder, holder
from attnjax.runs.manifest import Manifest
from attnjax.runs.result import RunResult
from attnjax.runs.run_folder import Verified, finished
from attnjax.training.checkpoints.checkpoint import latest_step


@dataclass(frozen=True)
class Done:
    """The run is finished, and its files are whole."""

    result: RunResult


@dataclass(frozen=True)
class Running:
    """A process trains the run; `step` is that of its last checkpoint."""

    holder: Holder
    step: int


@dataclass(frozen=True)
class Failed:
    """The run failed the last time, and no process trains it."""

    reason: str
    step: int


@dataclass(frozen=True)
class Begun:
    """The run was interrupted after the checkpoint of `step`."""

    step: int


@dataclass(frozen=True)
class Missing:
    """The run was never started, or has no checkpoint yet."""

    step: int = 0


type RunStatus = Done | Running | Failed | Begun | Missing


def status(folder: Path, wanted: Manifest, verified: Verified) -> RunStatus:
    """The status of the run in a folder; a finished run of fewer steps is not done."""
    if (result := finished(folder, wanted, verified)) is not None:
        return Done(result)
    step = latest_step(folder)
    if (process := holder(folder)) is not None:
        return Running(process, step)
    if (reason := failures.own_reason(folder)) is not None:
        return Failed(reason, step)
    return Begun(step) if step else Missing()
