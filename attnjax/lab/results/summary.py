"""What the records of an experiment come to: rows, claims with verdicts, published figures.

`attnjax.lab.results.judging` makes a `Summary` of records, and `attnjax.lab.reporting` draws it. A
row points to its records, and has the numbers of each seed by metric.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from attnjax.evaluation.measurement import Better, MetricKey
from attnjax.evaluation.training_cost import TrainingCost
from attnjax.experiment.claims import Kind
from attnjax.experiment.crossing import Crossing
from attnjax.lab.results.record import Record


@dataclass(frozen=True, kw_only=True)
class Column:
    """One metric of a variant.

    Attributes:
        better: None: the metric only describes.
        values: one per record, in the order of the row's records; None: not measured.
        length: for a part of the test split, the mean number of symbols of its sources.
    """

    key: MetricKey
    better: Better | None = None
    values: tuple[float | None, ...]
    length: float | None = None

    @property
    def measured(self) -> list[float]:
        """The values that were measured."""
        return [value for value in self.values if value is not None]

    @property
    def mean(self) -> float:
        """The mean of the measured values."""
        return float(np.mean(self.measured)) if self.measured else math.nan

    @property
    def deviation(self) -> float | None:
        """The standard deviation over the seeds (n - 1); None: fewer than two seeds."""
        return float(np.std(self.measured, ddof=1)) if len(self.measured) > 1 else None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One variant and its finished runs at its own values.

    Attributes:
        records: the runs, one a seed, in the order of their seeds, see
            `attnjax.lab.results.machines`.
        by_length: the metric on parts of the test split by source length, where no measure has it.
    """

    variant: str
    records: tuple[Record, ...]
    columns: tuple[Column, ...]
    by_length: tuple[Column, ...] = ()

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed of each run."""
        return tuple(record.seed for record in self.records)

    @property
    def runs(self) -> tuple[Path, ...]:
        """The folders of the runs, of those that lie in folders."""
        return tuple(record.run.folder for record in self.records if record.run is not None)

    @property
    def parameters(self) -> int:
        """The number of trained parameters."""
        return self.records[0].parameters or 0

    @property
    def seconds(self) -> float:
        """The training time of all seeds together."""
        return sum(record.seconds for record in self.records)

    @property
    def cost(self) -> TrainingCost | None:
        """What a step costs; None: the records do not say."""
        return self.records[0].cost

    @property
    def test_set(self) -> str | None:
        """A digest of the test splits of all seeds; None: unknown.

        Scores compare only where it is equal.
        """
        digests = {record.seed: record.data.get("test") for record in self.records}
        different = {*digests.values()}
        if None in different:
            return None
        if len(different) == 1:
            return different.pop()
        return sha256(repr(sorted(digests.items())).encode()).hexdigest()[:16]

    def column(self, key: MetricKey) -> Column | None:
        """Return the column of a metric; None: it was not measured."""
        return next((column for column in self.columns if column.key == key), None)

    def has(self, keys: Sequence[MetricKey]) -> bool:
        """Return whether at least one of these metrics was measured."""
        return any(column.key in keys for column in self.columns)


@dataclass(frozen=True, kw_only=True)
class FieldRow:
    """Fields that have the same values in every variant: that of the file's base, then theirs."""

    paths: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TunedPoint:
    """One point of the grid that a variant was tuned over.

    Attributes:
        losses: the lowest validation loss of each seed, infinity: its training diverged; (): not
            all are finished.
        tied: whether this point and another have the lowest loss within one standard error.
    """

    values: tuple[float, ...]
    losses: tuple[float, ...] = ()
    tied: bool = False

    @property
    def loss(self) -> float | None:
        """The mean loss of the seeds; None: not all are finished."""
        return sum(self.losses) / len(self.losses) if self.losses else None


@dataclass(frozen=True, kw_only=True)
class TuningRow:
    """The tuning of one variant: the seeds and points that were tried, the values chosen."""

    variant: str
    seeds: tuple[int, ...]
    fields: tuple[str, ...]
    points: tuple[TunedPoint, ...]
    chosen: tuple[float, ...]

    @property
    def tied(self) -> list[tuple[float, ...]]:
        """The values that are tied with the chosen ones."""
        return [point.values for point in self.points if point.tied and point.values != self.chosen]

    @property
    def edges(self) -> list[str]:
        """The fields whose chosen value is the least or the greatest of the grid."""
        columns = zip(*(point.values for point in self.points), strict=True)
        return [
            field
            for field, value, column in zip(self.fields, self.chosen, columns, strict=True)
            if value in (min(column), max(column))
        ]


@dataclass(frozen=True, kw_only=True)
class SlopeLine:
    """The axis of a claimed slope, such as "key width", and pairs of a variant and its position.

    `name` is what the variants have in common.
    """

    axis: str
    over: tuple[tuple[str, float], ...]
    name: str


@dataclass(frozen=True, kw_only=True)
class ClaimRow:
    """One claim and its verdict, see `attnjax.experiment.claims`.

    Attributes:
        kind, source, quote, bound: as those of the claim.
        added: whether the claim was added to the file, or changed, after a run was started.
        low, high: the ends of the interval of `estimate`, which is the mean over seeds.
        more_minutes: how long `more_seeds` would take.
        region: the least and the greatest value that the statement allows.
        words: what the estimate is of; "": the metric.
        difference: whether the estimate is a difference, so that 0 means no difference.
        slope: None: the estimate is not a slope.
        machine: the kind of machine of the runs, where several have all planned seeds; "": all.
    """

    text: str
    kind: Kind | None = None
    source: str | None = None
    quote: str | None = None
    bound: str | None = None
    exploratory: bool = False
    added: bool = False
    metric: MetricKey
    basis: str = "seeds"
    estimate: float
    low: float
    high: float
    confidence: float = 0.95
    p: float | None = None
    more_seeds: int | None = None
    more_minutes: float | None = None
    region: tuple[float, float]
    verdict: str
    reason: str = ""
    combinations: int = 1
    untrained_at: tuple[str, ...] = ()
    seeds: tuple[tuple[int, float], ...]
    far_off: int | None = None
    words: str = ""
    difference: bool = False
    slope: SlopeLine | None = None
    machine: str = ""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A claim and its verdicts.

    Attributes:
        kind, source, quote: as those of the claim.
        rows: the verdicts by kind of machine, "" for all machines together; {}: there is none.
        absent: the variants of the claim that have no run.
        reason: why there is no verdict; "": there is one.
    """

    text: str
    kind: Kind | None = None
    source: str | None = None
    quote: str | None = None
    rows: Mapping[str, ClaimRow]
    absent: tuple[str, ...] = ()
    reason: str = ""

    @property
    def agreed(self) -> bool:
        """Whether all machines have the same verdict."""
        return len({row.verdict for row in self.rows.values()}) == 1

    @property
    def weakest(self) -> ClaimRow | None:
        """The verdict with the largest p of all machines', or without one; None: there is none."""
        rows = self.rows.values()
        return max(rows, key=lambda row: math.inf if row.p is None else row.p, default=None)


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """A paper's figure, and ours for the same variant.

    Attributes:
        source: the published words, or where the figure was read.
        ours: the mean over our seeds; None: our variant was not run, has no such metric, or cannot
            be compared.
        why_not: why it cannot be compared; "": it can.
    """

    paper: str
    table: str
    variant: str
    metric: MetricKey
    value: float
    source: str = ""
    ours: float | None = None
    deviation: float | None = None
    why_not: str = ""

    @property
    def difference(self) -> float | None:
        """Our mean minus the paper's figure; None: we have no mean."""
        return None if self.ours is None else self.ours - self.value


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A claim or a published figure that is not shown, and why."""

    text: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """A field in which runs differ from the experiment file, with both values."""

    path: str
    file: str
    run: str
    variants: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The results of an experiment.

    Attributes:
        title, note: the first line of the file's docstring, and the rest.
        remarks: sentences about data and runs that a reader must know.
        rows: the variants that have finished runs.
        apart: the runs at chosen values that no row has: their seeds are in it on another kind of
            machine, or at other values.
        tied: the runs at values that tuning ties with the chosen ones.
        earlier: the records that are not judged: of other settings than the file's, or of other
            data than the latest of their task.
        judged: the claims of the file, in its order.
        figures_left_out: the published figures that are not shown, and why.
        meanings: pairs of a metric and what it means.
        environment: pairs of a name and its value, of the latest run.
        paper: the command of the paper's own setting; "": these runs are of it, or there is none.
        command: the command that makes these rows.
        crossing: how the rows' variants are crossed; None: they are not.
    """

    experiment: str
    title: str
    note: str = ""
    changes: tuple[Change, ...] = ()
    remarks: tuple[str, ...] = ()
    rows: tuple[Row, ...]
    apart: tuple[Record, ...] = ()
    tied: tuple[Record, ...] = ()
    earlier: tuple[Record, ...] = ()
    fields: tuple[FieldRow, ...] = ()
    meanings: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    paper: str = ""
    tunings: tuple[TuningRow, ...] = ()
    judged: tuple[Judged, ...] = ()
    published: tuple[PublishedRow, ...] = ()
    figures_left_out: tuple[LeftOut, ...] = ()
    command: str = ""
    crossing: Crossing | None = None

    @property
    def records(self) -> list[Record]:
        """The runs that count, at chosen values and at those that are tied with them."""
        of_rows = (record for row in self.rows for record in row.records)
        return [*of_rows, *self.apart, *self.tied]

    @property
    def claims(self) -> tuple[ClaimRow, ...]:
        """The verdicts on all claims."""
        return tuple(row for claim in self.judged for row in claim.rows.values())

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The claims without a verdict, and the figures that are not shown."""
        claims = (claim for claim in self.judged if not claim.rows)
        return (
            *(LeftOut(text=claim.text, reason=claim.reason) for claim in claims),
            *self.figures_left_out,
        )

    @property
    def has_deviations(self) -> bool:
        """Whether some variant has the deviation of several seeds."""
        return any(column.deviation is not None for row in self.rows for column in row.columns)

    def keys(self, *, judged: bool) -> list[MetricKey]:
        """Return the metrics that judge a variant (`judged`), or those that only describe it."""
        columns = [column for row in self.rows for column in row.columns]
        wanted = (column.key for column in columns if (column.better is not None) == judged)
        return list(dict.fromkeys(wanted))

    def better(self, key: MetricKey) -> Better | None:
        """Return which direction of a metric is better; None: the metric only describes."""
        columns = (row.column(key) for row in self.rows)
        return next((column.better for column in columns if column is not None), None)
