"""A finished run, wherever it lies: in its folder, or in a line of a file that is kept.

    <runs>/<experiment>/<variant>/seed-<seed>/    made of config.json and result.json
    <records>/<experiment>[-<setting>].jsonl      a line a run, format 1

Whatever speaks of several runs reads records and nothing else, see `attnjax.lab.results.judging`;
`attnjax.lab.results.read` and `attnjax.lab.results.lines` read them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from attnjax.config.constraints import NonNegativeFloat, NonNegativeInt
from attnjax.config.read_json import (
    Day,
    Digest,
    FolderName,
    Number,
    WholeNumber,
    folder_name,
    number,
)
from attnjax.config.serialize import from_json, to_json
from attnjax.errors import UserError
from attnjax.evaluation import sentence_stats
from attnjax.evaluation.measurement import Measurement, MeasurementRecord
from attnjax.evaluation.packed_array import packed, unpacked
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.evaluation.training_cost import TrainingCost
from attnjax.experiment.estimands import RunMetrics
from attnjax.experiment.tuning import in_a_file_name
from attnjax.lab.runs.manifest import Manifest
from attnjax.lab.runs.provenance import Code
from attnjax.lab.runs.result import RunResult
from attnjax.lab.runs.versions import Machine
from attnjax.nn.paths import flat

FORMAT = 1

type StageName = Literal["chosen", "tied", "tuning"]
"""A run at the variant's own values, at values that tuning ties with them, or one that tunes."""

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
        """Pack the statistics; `own` are the dataclasses of the experiment file."""
        numbers = _smallest(sentences.statistics)
        kind: Any = numbers.dtype.name
        return cls(
            metric=to_json(sentences.metric, own),
            shape=numbers.shape,
            kind=kind,
            statistics=packed(numbers),
            lengths=None if sentences.lengths is None else packed(sentences.lengths),
        )

    def content(self) -> tuple[bytes, bytes]:
        """Return the numbers that are compressed, however they are: lengths and statistics.

        Raises:
            UserError: they do not unpack to numbers of this shape.
        """
        lengths = self.lengths
        packed_lengths = () if lengths is None else unpacked(lengths, "int64", self.shape[:1])
        statistics = unpacked(self.statistics, self.kind, self.shape)
        return np.asarray(packed_lengths).tobytes(), statistics.tobytes()

    def sentences(self, own: Mapping[str, type]) -> Sentences:
        """Return the statistics, unpacked.

        Raises:
            UserError: they do not unpack to numbers of this shape, which the metric takes.
        """
        lengths = None if self.lengths is None else unpacked(self.lengths, "int64", self.shape[:1])
        statistics = unpacked(self.statistics, self.kind, self.shape)
        return sentence_stats.checked(from_json(self.metric, own), lengths, statistics)


@dataclass(frozen=True, kw_only=True)
class RunSource:
    """The folder that a record was read from, with what no file of a record holds."""

    folder: Path
    stage: StageName
    manifest: Manifest
    result: RunResult


class Line(NamedTuple):
    """A line of a file of records, counted from 1."""

    path: Path
    number: int

    def __str__(self) -> str:
        return f"{self.path}, line {self.number}"


@dataclass(frozen=True, kw_only=True)
class Record:
    """A finished run.

    All fields but `source` are those of its line, format 1. A record that was read from a run's
    folder has no `recorded`, `design`, `answers` and `files`: these are made when it is written.

    Attributes:
        key: the digest of the settings, without those of the machine and without tuned values, and
            of the data where they are not generated from the settings.
        settings: the digest of the settings alone.
        design: the digest of claims, grid and planned seeds when the record was written.
        recorded: when the record was written, as ISO 8601, in UTC.
        tuned: the values that tuning chose, by their paths.
        tied: whether other values, which tuning cannot tell from `tuned`, are the variant's own.
        grid: the digest of the grid and the seeds that tuned it; None: it was not tuned, or the
            record is older than this field.
        parts: the digest of the definitions of one's own parts in the settings; None: there are
            none, or the record is older than this field.
        data: the digests of the splits.
        files: the digests of result.json and config.json.
        source: where the record was read: in the folder of a run, in a line of a file, or in a file
            of its own.
    """

    format: NonNegativeInt = FORMAT
    experiment: FolderName
    setting: FolderName | None = None
    variant: FolderName
    seed: NonNegativeInt
    key: Digest
    settings: Digest
    design: Digest | None = None
    recorded: str = ""
    date: Day
    tuned: Mapping[str, Any] = field(default_factory=dict)
    tied: bool = False
    grid: Digest | None = None
    parts: Digest | None = None
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
    files: Mapping[FolderName, str] = field(default_factory=dict)
    source: RunSource | Line | Path | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse values that tuning cannot have tied."""
        if self.tied and not all(map(number, self.tuned.values())):
            raise UserError("tuned: wanted numbers, which can be tied")

    @property
    def run(self) -> RunSource | None:
        """The folder of the run; None: the record is of a file."""
        return self.source if isinstance(self.source, RunSource) else None

    @property
    def where(self) -> str:
        """Where the record is from: a run's folder, or a file with its commit and machine."""
        if self.run is not None:
            return str(self.run.folder)
        return f"{self.source or self.name}, commit {self.commit}, {self.kind}"

    @property
    def commit(self) -> str:
        """The commit of attnjax that made the run, in eight digits."""
        commit = self.code.attnjax.commit if self.code else None
        return (commit or "unknown")[:8]

    @property
    def stage(self) -> StageName:
        """What the run is for; a file is of no run that tunes."""
        if self.run is not None:
            return self.run.stage
        return "tied" if self.tied else "chosen"

    @property
    def kind(self) -> str:
        """The kind of the machine, as a part of a file's name."""
        return "unknown" if self.machine is None else self.machine.kind

    @property
    def tied_values(self) -> tuple[float, ...]:
        """The values that are tied with the chosen ones; (): the run has the chosen ones."""
        return tuple(self.tuned.values()) if self.tied else ()

    def values(self, paths: Sequence[str]) -> tuple[Any, ...]:
        """Return the run's values of these fields; None: the record does not say."""
        known = self.tuned if self.run is None else flat(self.run.manifest.settings)
        return tuple(known.get(path) for path in paths)

    @property
    def seconds(self) -> float:
        """The time of training."""
        return self.minutes.train * 60 if self.run is None else self.run.result.seconds

    @property
    def cost(self) -> TrainingCost | None:
        """What a step costs; None: the record does not say."""
        return None if self.run is None else self.run.result.cost

    @property
    def loss(self) -> float:
        """The lowest validation loss of a run that tunes; infinity: its training diverged."""
        lowest = None if self.run is None else self.run.result.best_validation_loss
        return math.inf if lowest is None else lowest

    @property
    def identity(self) -> tuple[str, str, str]:
        """What the records of one run have in common: experiment, variant, key, seed, machine."""
        values = f"-at-{in_a_file_name(self.tied_values)}" if self.tied else ""
        above = self.experiment if self.setting is None else f"{self.experiment}-{self.setting}"
        return above, self.variant, f"{self.key}{values}-seed-{self.seed}-{self.kind}"

    @property
    def name(self) -> str:
        """The record's name in a sentence."""
        return "/".join(self.identity)

    @property
    def file_name(self) -> str:
        """The name of the file that has the record's line.

        Raises:
            UserError: a name of the run leads to another place.
        """
        for part in self.identity:
            if not folder_name(part):
                raise UserError(f"a record wants names of folders and of a file; got {part!r}")
        return f"{self.identity[0]}.jsonl"

    def measured(self, own: Mapping[str, type]) -> RunMetrics:
        """Return the numbers of the run, in the form that claims are judged by.

        `own` are the dataclasses of the experiment file, one of which may be the metric.
        """
        metrics = {(number := Measurement.of(metric)).key: number.value for metric in self.metrics}
        return RunMetrics(metrics, self._sentences(own), self.data.get("test"))

    def _sentences(self, own: Mapping[str, type]) -> Sentences | None:
        """Return the statistics of the answers; None: nothing was decoded."""
        if self.run is not None:
            return sentence_stats.read(self.run.folder, own)
        try:
            return None if self.answers is None else self.answers.sentences(own)
        except UserError as error:
            raise UserError(f"the record {self.source or self.name} is damaged: {error}") from error


def _smallest(numbers: np.ndarray) -> np.ndarray:
    """Return the numbers in the smallest signed type that holds them; fractions as they are."""
    if numbers.dtype.kind not in "iu" or not numbers.size:
        return numbers
    # the type of a negative number is signed, and as large on the other side of 0
    least = min(int(numbers.min()), -1 - int(numbers.max()))
    return numbers.astype(np.min_scalar_type(least))
