"""The summary of an experiment as dataclasses: the content of summary.json and of the reports.

`attnjax.results.summary` makes it from the runs' folders; `config.serialize` writes and reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from attnjax.evaluation.measurement import Better, MetricKey
from attnjax.evaluation.training_cost import TrainingCost


@dataclass(frozen=True, kw_only=True)
class Column:
    """One metric of a variant.

    Attributes:
        better: None: the metric only describes.
        values: one per seed, in the order of the row's seeds; None: not measured.
        deviation: the standard deviation over the seeds (n - 1); None: fewer than two seeds.
        length: for a part of the test split, the mean number of symbols of its sources.
    """

    key: MetricKey
    better: Better | None = None
    values: tuple[float | None, ...]
    mean: float
    deviation: float | None = None
    length: float | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One variant and the seeds of its finished runs.

    Attributes:
        seconds: the training time of all seeds together.
        test_set: a digest of the test splits of all seeds; None: unknown. Scores compare only where
            it is equal.
        cost: None: an earlier version of attnjax did not record it.
        by_length: the metric on parts of the test split by source length, where no measure has it.
        runs: the runs' folders, relative to the experiment's, in the order of the seeds.
    """

    variant: str
    seeds: tuple[int, ...]
    columns: tuple[Column, ...]
    parameters: int
    seconds: float
    test_set: str | None = None
    cost: TrainingCost | None = None
    by_length: tuple[Column, ...] = ()
    runs: tuple[str, ...] = ()

    def column(self, key: MetricKey) -> Column | None:
        """The column of a metric; None: it was not measured."""
        return next((column for column in self.columns if column.key == key), None)

    def has(self, keys: Sequence[MetricKey]) -> bool:
        """Whether at least one of these metrics was measured."""
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
        loss: the lowest validation loss, the mean over seeds; infinity: a training diverged; None:
            not all are finished.
        losses: that of each seed; (): an earlier version of attnjax had one seed.
        tied: whether this point and another have the lowest loss within one standard error.
    """

    values: tuple[float, ...]
    loss: float | None
    losses: tuple[float, ...] = ()
    tied: bool = False


@dataclass(frozen=True, kw_only=True)
class TuningRow:
    """The tuning of one variant: the seeds and points that were tried, the values chosen.

    An earlier version of attnjax had `seed` alone, the first of `seeds`.
    """

    variant: str
    seed: int
    seeds: tuple[int, ...] = ()
    fields: tuple[str, ...]
    points: tuple[TunedPoint, ...]
    chosen: tuple[float, ...]

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
    """The axis of a claimed slope, such as "key width", and pairs of a variant and its place.

    `name` is what the variants have in common; an earlier version of attnjax recorded none.
    """

    axis: str
    over: tuple[tuple[str, float], ...]
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class ClaimRow:
    """One claim and its verdict, see `attnjax.experiment.claims`.

    Attributes:
        source: the paper's section and sentence; None: our own question.
        added: whether the claim was added to the file, or changed, after a run was started.
        low, high: the ends of the interval of `estimate`, which is the mean over seeds.
        more_minutes: how long `more_seeds` would take.
        region: the least and the greatest value that the statement allows.
        difference: whether the estimate is a difference, so that 0 means no difference.
        slope: None: the estimate is not a slope.
    """

    text: str
    source: str | None = None
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
    seeds: tuple[tuple[int, float], ...]
    far_off: int | None = None
    difference: bool = False
    slope: SlopeLine | None = None


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
        meanings: pairs of a metric and what it means.
        environment: pairs of a name and its value, of the latest run; so are `device`, `versions`
            and `date`.
        paper: the command of the paper's own setting; "": these runs are of it, or there is none.
    """

    experiment: str
    title: str
    note: str = ""
    changes: tuple[Change, ...] = ()
    remarks: tuple[str, ...] = ()
    rows: tuple[Row, ...]
    fields: tuple[FieldRow, ...] = ()
    meanings: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    paper: str = ""
    tunings: tuple[TuningRow, ...] = ()
    claims: tuple[ClaimRow, ...] = ()
    published: tuple[PublishedRow, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    device: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    date: str = ""
    command: str = ""

    @property
    def has_deviations(self) -> bool:
        """Whether some variant has the deviation of several seeds."""
        return any(column.deviation is not None for row in self.rows for column in row.columns)

    def keys(self, *, judged: bool) -> list[MetricKey]:
        """The metrics that judge a variant (`judged`), or those that only describe it."""
        columns = [column for row in self.rows for column in row.columns]
        wanted = (column.key for column in columns if (column.better is not None) == judged)
        return list(dict.fromkeys(wanted))

    def better(self, key: MetricKey) -> Better | None:
        """Which direction of a metric is better; None: the metric only describes."""
        columns = (row.column(key) for row in self.rows)
        return next((column.better for column in columns if column is not None), None)
