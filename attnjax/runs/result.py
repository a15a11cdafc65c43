"""The result of a run, as its result.json holds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnjax.config.constraints import NonNegativeInt
from attnjax.config.record import FolderName, WholeNumber, known_keys, read_record
from attnjax.evaluation.measurement import MeasurementRecord
from attnjax.runs.json_files import read_sealed
from attnjax.runs.manifest import Manifest
from attnjax.runs.provenance import Code
from attnjax.training.checkpoints.checkpoint import average, average_of, latest_step

RESULT = "result.json"


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The result of a run; what its file holds beside these keys are details of the scores.

    Attributes:
        variant: the name of the run's variant.
        seed: the run's seed.
        metrics: the measured numbers.
        seconds: the training time.
        date: the day on which the run was finished.
        device: the device, in words.
        versions: the version of each package.
        step: the number of updates.
        averaged: the steps of the checkpoints whose mean are the run's parameters; (): an earlier
            version of attnjax did not write them.
        best_validation_loss: None: there were no validation examples, or the training diverged.
        parameters: the number of parameters; None: the run is a point of a tuning.
        test_set: the digest of the test split; None: there was none.
        notes: what a reader must know of the data.
        code: the code that made the run; None: an earlier version of attnjax did not record it.
        files: the digests of the files that belong to the result, by their names.
    """

    variant: FolderName
    seed: NonNegativeInt
    metrics: tuple[MeasurementRecord, ...]
    seconds: float
    date: str
    device: str
    versions: Mapping[str, str]
    step: NonNegativeInt
    averaged: tuple[NonNegativeInt, ...] = ()
    best_validation_loss: float | None = None
    parameters: WholeNumber | None = None
    test_set: str | None = None
    notes: tuple[str, ...] = ()
    code: Code | None = None
    files: Mapping[FolderName, str]


def read_result(folder: Path) -> RunResult | None:
    """The result in a run's folder; None: the run is not finished.

    Raises:
        UserError: result.json is damaged.
    """
    path = folder / RESULT
    try:
        content = read_sealed(path)
    except FileNotFoundError:
        return None
    return read_record(known_keys(content, RunResult), RunResult, path)


def result_params(folder: Path, found: Manifest) -> Any:
    """The parameters of a run: those of its result, or of its training so far.

    Args:
        folder: the run's folder.
        found: its manifest.

    Raises:
        UserError: a checkpoint of the result is missing or corrupt, or there is none yet.
    """
    done = read_result(folder)
    if done is not None and (done.averaged or latest_step(folder) < done.step):
        # an earlier version of attnjax named the last step alone
        return average_of(folder, done.averaged or [done.step])
    return average(folder, found.training("average"), found.training("result"))
