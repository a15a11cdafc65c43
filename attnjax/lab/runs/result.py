"""The result of a run, as its result.json holds it."""

import datetime
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np

from attnjax.config.constraints import NonNegativeFloat, NonNegativeInt
from attnjax.config.read_json import (
    Day,
    Digest,
    FolderName,
    Number,
    WholeNumber,
    known_keys,
    read_record,
)
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement, MeasurementRecord
from attnjax.evaluation.training_cost import TrainingCost
from attnjax.lab.checkpoints.checkpoint import average, average_of
from attnjax.lab.loop.run_state import TrainResult
from attnjax.lab.runs.json_files import read_sealed
from attnjax.lab.runs.manifest import Manifest
from attnjax.lab.runs.provenance import Code, Sources
from attnjax.lab.runs.versions import Machine, device, machine, versions
from attnjax.nn.paths import flat

RESULT = "result.json"


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The result of a run.

    Attributes:
        date: the day on which the run was finished.
        averaged: the steps of the checkpoints whose mean are the run's parameters.
        stopped: why training ended, "steps" or "patience".
        best_validation_loss: None: there were no validation examples, the training diverged, or a
            score decided.
        parameters: the number of parameters; None: the run is a point of a tuning.
        parameters_digest: the digest of the parameters, see `digest_of`; None: the result is older
            than this field.
        test_set: the digest of the test split; None: there was none.
        data: the digests of all splits.
        splits: of each split its name where it comes from and its number of examples.
        decoding_seconds: the time of decoding and measuring.
        notes: what a reader must know of the data.
        made_by: the versions of attnjax that took part in the training, if it went on with another.
        files: the digests of the files that belong to the result, by their names.
        details: details of the scores, and the best score on the validation split. The file holds
            them beside the other keys.
    """

    variant: FolderName
    seed: NonNegativeInt
    metrics: tuple[MeasurementRecord, ...]
    seconds: NonNegativeFloat
    date: Day
    device: str
    versions: Mapping[str, str]
    step: NonNegativeInt
    averaged: tuple[NonNegativeInt, ...]
    epochs: Number
    stopped: str
    best_validation_loss: float | None = None
    parameters: WholeNumber | None = None
    parameters_digest: Digest | None = None
    test_set: str | None = None
    data: Mapping[FolderName, str] = field(default_factory=dict)
    splits: Mapping[FolderName, str] = field(default_factory=dict)
    cost: TrainingCost | None = None
    machine: Machine
    decoding_seconds: NonNegativeFloat | None = None
    notes: tuple[str, ...] = ()
    code: Code | None = None
    made_by: tuple[Sources, ...] = ()
    files: Mapping[FolderName, str]
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, outcome: TrainResult, manifest: Manifest) -> Self:
        """Return the result of a training that has ended now, here; nothing is measured yet."""
        return cls(
            variant=manifest.variant,
            seed=manifest.seed,
            metrics=(),
            seconds=outcome.seconds,
            date=datetime.date.today().isoformat(),
            device=device(),
            versions=versions(),
            machine=machine(),
            step=outcome.step,
            averaged=tuple(outcome.averaged),
            parameters_digest=digest_of(outcome.params),
            epochs=outcome.epochs,
            stopped=outcome.stopped,
            best_validation_loss=None if outcome.best == math.inf else outcome.best,
            files={},
        )

    def record(self) -> dict[str, Any]:
        """Return the content of result.json."""
        content = asdict(self)
        details = content.pop("details")
        metrics = [Measurement.of(metric).record() for metric in self.metrics]
        return {**details, **content, "metrics": metrics}


def read_result(folder: Path) -> RunResult | None:
    """Read the result in a run's folder; None: the run is not finished."""
    path = folder / RESULT
    try:
        content = read_sealed(path)
    except FileNotFoundError:
        return None
    known = known_keys(content, RunResult)
    details = {key: value for key, value in content.items() if key not in known}
    return read_record({**known, "details": details}, RunResult, path)


def finished_runs(folder: Path) -> list[Path]:
    """Return the folders of an experiment's finished runs, without those of tuning."""
    return sorted(path.parent for path in folder.glob(f"*/seed-*/{RESULT}"))


def result_params(folder: Path, manifest: Manifest, result: RunResult | None) -> Any:
    """Return the parameters of a run: those of its result, or of its training so far.

    Raises:
        UserError: the checkpoints in the folder are not those of the result.
    """
    if result is not None:
        params = average_of(folder, result.averaged)
        if result.parameters_digest not in (None, digest_of(params)):
            raise UserError(
                f"the checkpoints in {folder} are not those of its {RESULT}: restore them from a "
                "copy, or run the experiment again under another --runs"
            )
        return params
    return average(folder, manifest.training("average"), manifest.training("result"))


def digest_of(params: Any) -> str:
    """Return the digest of parameters: of their names, dtypes, shapes and bits, 32 digits."""
    total = sha256()
    for name, array in sorted(flat(params).items()):
        array = np.asarray(array)
        total.update(f"{name} {array.dtype} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:32]
