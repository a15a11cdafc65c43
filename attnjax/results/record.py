"""The record of a finished run: a small file that is kept, where a run's folder is not.

    <records>/<experiment>[-<setting>]/<variant>/<key>-seed-<seed>-<machine>.json

Records of equal keys add up over days and machines. A record is never written by hand, and never
changed: it has a digest of its own content.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from attnjax.config.constraints import NonNegativeFloat, NonNegativeInt
from attnjax.config.record import (
    Day,
    Digest,
    FolderName,
    Number,
    WholeNumber,
    folder_name,
    number,
    read_record,
)
from attnjax.config.serialize import from_json, to_json
from attnjax.errors import UserError
from attnjax.evaluation import sentence_stats
from attnjax.evaluation.measurement import Measurement, MeasurementRecord
from attnjax.evaluation.packed_array import packed, unpacked
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.experiment.design import design, short_digest
from attnjax.experiment.estimands import RunMetrics
from attnjax.experiment.load import ExperimentFile
from attnjax.files import file_digest
from attnjax.nn.paths import flat
from attnjax.reporting import evidence
from attnjax.runs.json_files import read_sealed, write_sealed
from attnjax.runs.manifest import CONFIG, read
from attnjax.runs.provenance import Code
from attnjax.runs.result import RESULT
from attnjax.runs.run_folder import MACHINE, result
from attnjax.runs.versions import Machine

FORMAT = 1

type Stored = Literal[
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"
]
"""The types of numbers that statistics are kept in."""


@dataclass(frozen=True, kw_only=True)
class Minutes:
    """The minutes of a run; `tune` is the whole variant's. None: they were not recorded."""

    train: NonNegativeFloat
    decode: NonNegativeFloat | None = None
    tune: NonNegativeFloat | None = None

    @property
    def run(self) -> float:
        """Those of training and decoding."""
        return self.train + (self.decode or 0.0)


@dataclass(frozen=True, kw_only=True)
class Answers:
    """A run's `sentence_stats.Sentences`, whose arrays are compressed."""

    metric: Mapping[str, Any]
    shape: tuple[NonNegativeInt, NonNegativeInt]
    kind: Stored
    statistics: str
    lengths: str | None = None

    @classmethod
    def of(cls, sentences: Sentences, own: Mapping[str, type]) -> "Answers":
        numbers = _smallest(sentences.statistics)
        kind: Any = numbers.dtype.name
        return cls(
            metric=to_json(sentences.metric, own),
            shape=numbers.shape,
            kind=kind,
            statistics=packed(numbers),
            lengths=None if sentences.lengths is None else packed(sentences.lengths),
        )

    def sentences(self, own: Mapping[str, type]) -> Sentences:
        """Return the statistics, unpacked.

        Raises:
            UserError: they do not unpack to numbers of this shape, which the metric takes.
        """
        lengths = None if self.lengths is None else unpacked(self.lengths, "int64", self.shape[:1])
        statistics = unpacked(self.statistics, self.kind, self.shape)
        return sentence_stats.checked(from_json(self.metric, own), lengths, statistics)


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of a finished run.

    Attributes:
        key: the digest of the settings, without those of the machine and without tuned values, and
            of the data where they are not generated from the settings.
        recorded: when the record was written, as ISO 8601, in UTC.
        tied: whether other values, which tuning cannot tell from `tuned`, are the variant's own.
        data: the digests of the splits.
        files: the digests of result.json and config.json.
    """

    format: NonNegativeInt = FORMAT
    experiment: FolderName
    setting: FolderName | None = None
    variant: FolderName
    seed: NonNegativeInt
    key: Digest
    settings: Digest
    design: Digest
    recorded: str
    date: Day
    tuned: Mapping[str, Any] = field(default_factory=dict)
    tied: bool = False
    code: Code | None = None
    versions: Mapping[str, str]
    device: str
    machine: Machine | None = None
    data: Mapping[str, str] = field(default_factory=dict)
    vocabulary: str | None = None
    updates: NonNegativeInt
    epochs: Number | None = None
    stopped: str | None = None
    parameters: WholeNumber | None = None
    minutes: Minutes
    metrics: tuple[MeasurementRecord, ...]
    answers: Answers | None = None
    files: Mapping[FolderName, str]

    def __post_init__(self) -> None:
        """Refuse values that tuning cannot have tied."""
        if self.tied and not all(map(number, self.tuned.values())):
            raise UserError("tuned: wanted numbers, which can be tied")

    @property
    def kind(self) -> str:
        """The kind of the machine, as a part of a file's name."""
        return "unknown" if self.machine is None else self.machine.kind

    @property
    def tied_values(self) -> str:
        """The values that are tied with the chosen ones; "": the run has the chosen ones."""
        return evidence.values(tuple(self.tuned.values())) if self.tied else ""

    def path(self) -> Path:
        """Return the path of the record, below the folder of all records.

        Raises:
            UserError: a name of the run names another place.
        """
        values = f"-at-{self.tied_values.replace(' ', '-')}" if self.tied else ""
        above = self.experiment if self.setting is None else f"{self.experiment}-{self.setting}"
        name = f"{self.key}{values}-seed-{self.seed}-{self.kind}.json"
        for part in (above, self.variant, name):
            if not folder_name(part):
                raise UserError(f"a record wants names of folders and of a file; got {part!r}")
        return Path(above, self.variant, name)

    def measured(self, own: Mapping[str, type]) -> RunMetrics:
        """The numbers of the run, in the form that claims are judged by."""
        metrics = {(number := Measurement.of(each)).key: number.value for each in self.metrics}
        try:
            sentences = None if self.answers is None else self.answers.sentences(own)
        except UserError as error:
            raise UserError(f"the record {self.path()} is damaged: {error}") from error
        return RunMetrics(metrics, sentences, self.data.get("test"))


def settings_digest(settings: Mapping[str, Any], tuned: tuple[str, ...]) -> str:
    """The digest of a run's settings, without those of the machine and without tuned values."""
    left_out = {*MACHINE, *tuned}
    counted = {path: value for path, value in flat(settings).items() if path not in left_out}
    return short_digest(counted)


def record(run: Path, loaded: ExperimentFile, recorded: str) -> Record:
    """The record of the run in a folder, by its experiment file in the run's setting."""
    outcome, manifest = result(run, {}), read(run)
    if outcome is None:
        raise UserError(f"{run} is not finished, so there is nothing to record")
    settings = settings_digest(manifest.settings, manifest.tuned)
    data = dict(outcome.data) or ({} if outcome.test_set is None else {"test": outcome.test_set})
    # the settings of a generated task say its data, the seed included
    generated = "seed" in manifest.settings["task"]
    sentences = sentence_stats.read(run, loaded.own)
    decode = outcome.decoding_seconds
    values = flat(manifest.settings)
    return Record(
        experiment=manifest.experiment,
        setting=manifest.setting,
        variant=manifest.variant,
        seed=manifest.seed,
        key=short_digest([settings, {} if generated else data, manifest.imported]),
        settings=settings,
        design=design(loaded.ablation, loaded.own),
        recorded=recorded,
        date=outcome.date,
        tuned={path: values.get(path) for path in manifest.tuned},
        tied=run.parent.name != manifest.variant,
        code=outcome.code,
        versions=outcome.versions,
        device=outcome.device,
        machine=outcome.machine,
        data=data,
        vocabulary=manifest.vocabulary,
        updates=outcome.step,
        epochs=outcome.epochs,
        stopped=outcome.stopped,
        parameters=outcome.parameters,
        minutes=Minutes(
            train=_minutes(outcome.seconds),
            decode=None if decode is None else _minutes(decode),
            tune=_minutes(_tuning_seconds(run.parent) if manifest.tuned else 0),
        ),
        metrics=outcome.metrics,
        answers=None if sentences is None else Answers.of(sentences, loaded.own),
        files={name: file_digest(run / name) for name in (RESULT, CONFIG)},
    )


def write(made: Record, folder: Path) -> Path | None:
    """Write a record below a folder; None: the same run has a record there.

    Raises:
        UserError: there is a record of another run with the same key, seed and machine.
    """
    path = folder / made.path()
    if path.exists():
        if read_file(path).files != made.files:
            raise UserError(
                f"{path} is the record of another run with the same settings, seed and machine; "
                "records are never replaced"
            )
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    write_sealed(path, asdict(made))
    return path


def read_file(path: Path) -> Record:
    """Read a record; one that was changed is refused.

    Raises:
        UserError: the file was changed, or is damaged.
    """
    try:
        return read_record(read_sealed(path), Record, path)
    except FileNotFoundError as error:
        raise UserError(f"{path} is a link to nothing") from error


def _tuning_seconds(folder: Path) -> float:
    """The seconds of all runs by which a variant was tuned."""
    runs = (result(path.parent, {}) for path in sorted(folder.glob(f"tune/**/{RESULT}")))
    return sum(run.seconds for run in runs if run is not None)


def _minutes(seconds: float) -> float:
    return round(seconds / 60, 2)


def _smallest(numbers: np.ndarray) -> np.ndarray:
    """The numbers in the smallest signed type that holds them; fractions as they are."""
    if numbers.dtype.kind not in "iu" or not numbers.size:
        return numbers
    # the type of a negative number is signed, and as large on the other side of 0
    least = min(int(numbers.min()), -1 - int(numbers.max()))
    return numbers.astype(np.min_scalar_type(least))
