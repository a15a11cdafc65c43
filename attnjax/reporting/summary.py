"""The summary of an experiment, typed: what summary.json holds and the reports show.

`attnjax.runs.summary` makes it from the runs' folders; `config.serialize` writes and reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from attnjax.evaluation.measurement import Better, MetricKey


@dataclass(frozen=True, kw_only=True)
class Column:
    """One metric of a variant.

    Attributes:
        key: which metric.
        better: which direction is better; None: the metric judges nothing.
        values: one per seed, in the order of the row's seeds; None: not measured.
        mean: over the seeds.
        deviation: the standard deviation over the seeds (n - 1); None: fewer than two seeds.
        length: for a part of the test split, the mean number of symbols of its sources; None:
            unknown, or no part.
    """

    key: MetricKey
    better: Better | None = None
    values: tuple[float | None, ...]
    mean: float
    deviation: float | None = None
    length: float | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One variant.

    Attributes:
        variant: its name.
        seeds: of its finished runs.
        columns: what was measured.
        parameters: how many it has.
        seconds: of training, all seeds together.
        test_set: a digest of the test split; None: unknown. Scores compare only where it is equal.
        runs: the runs' folders, relative to the experiment's, in the order of the seeds.
    """

    variant: str
    seeds: tuple[int, ...]
    columns: tuple[Column, ...]
    parameters: int
    seconds: float
    test_set: str | None = None
    runs: tuple[str, ...] = ()

    def column(self, key: MetricKey) -> Column | None:
        """The column of a metric; None: it was not measured."""
        return next((column for column in self.columns if column.key == key), None)

    def has(self, keys: Sequence[MetricKey]) -> bool:
        """Whether at least one of these metrics was measured."""
        return any(column.key in keys for column in self.columns)


@dataclass(frozen=True, kw_only=True)
class TunedPoint:
    """One point of the grid that a variant was tuned over.

    Attributes:
        values: one for each tuned field.
        loss: the lowest validation loss of its training; infinity: it diverged; None: it was not
            finished.
    """

    values: tuple[float, ...]
    loss: float | None


@dataclass(frozen=True, kw_only=True)
class TuningRow:
    """The tuning of one variant.

    Attributes:
        variant: its name.
        seed: of the runs that tuned it.
        fields: the paths of the tuned fields.
        points: all of the grid.
        chosen: the values that the variant's seeds were trained with.
    """

    variant: str
    seed: int
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
    """What a slope is taken over.

    Attributes:
        axis: what x is, as "key width".
        over: (variant, its x).
    """

    axis: str
    over: tuple[tuple[str, float], ...]


@dataclass(frozen=True, kw_only=True)
class ClaimRow:
    """One claim and its verdict.

    Attributes:
        text: the statement.
        source: where the paper says it; None: our own question.
        exploratory: whether the design was changed after its results had been seen.
        metric: what was measured.
        basis: what the interval ranges over: "seeds", or "seeds and sentences".
        estimate: the mean over seeds.
        low: the lower end of its 95 % interval.
        high: the upper end.
        region: the least and the greatest value that the statement allows.
        verdict: "reproduced", "not reproduced" or "undecided".
        reason: why the claim cannot be decided; "": it can.
        seeds: (seed, its value).
        far_off: the seed whose value lies far off the others.
        difference: whether the estimate is a difference, so that 0 says that there is none.
        slope: what the estimate is the slope over; None: it is no slope.
    """

    text: str
    source: str | None = None
    exploratory: bool = False
    metric: MetricKey
    basis: str = "seeds"
    estimate: float
    low: float
    high: float
    region: tuple[float, float]
    verdict: str
    reason: str = ""
    seeds: tuple[tuple[int, float], ...]
    far_off: int | None = None
    difference: bool = False
    slope: SlopeLine | None = None


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """A paper's figure, and ours for the same variant.

    Attributes:
        paper: author and year.
        table: where in the paper.
        variant: ours that stands for it.
        metric: ours that stands for theirs.
        value: the paper's figure.
        source: the published words, or where the figure was read.
        ours: the mean over our seeds; None: the variant was not run, or not measured so.
        deviation: its standard deviation over seeds.
    """

    paper: str
    table: str
    variant: str
    metric: MetricKey
    value: float
    source: str = ""
    ours: float | None = None
    deviation: float | None = None

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None else self.ours - self.value


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A claim or a published figure that is not shown.

    Attributes:
        text: the claim, or the figure.
        reason: why.
    """

    text: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """A field in which runs differ from the experiment file.

    Attributes:
        path: of the field.
        file: its value in the file.
        run: its value in the runs.
        variants: whose runs.
    """

    path: str
    file: str
    run: str
    variants: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What an experiment came to.

    Attributes:
        experiment: the name of its folder.
        title: the file's first line.
        note: the rest of the file's docstring.
        changes: what the runs have otherwise than the file.
        rows: its variants that have finished runs.
        tunings: of those that were tuned.
        claims: those that were judged.
        published: the papers' figures beside ours.
        left_out: claims and figures that are not shown, and why.
        device: what the latest run ran on.
        versions: (package, its version) of the latest run.
        date: of the latest run.
        command: what runs all of it again.
    """

    experiment: str
    title: str
    note: str = ""
    changes: tuple[Change, ...] = ()
    rows: tuple[Row, ...]
    tunings: tuple[TuningRow, ...] = ()
    claims: tuple[ClaimRow, ...] = ()
    published: tuple[PublishedRow, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    device: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    date: str = ""
    command: str = ""

    def keys(self, *, judged: bool) -> list[MetricKey]:
        """The metrics that say how good a variant is (judged), or those that only describe it."""
        columns = [column for row in self.rows for column in row.columns]
        wanted = (column.key for column in columns if (column.better is not None) == judged)
        return list(dict.fromkeys(wanted))

    def better(self, key: MetricKey) -> Better | None:
        """Which direction of a metric is better; None: it judges nothing."""
        columns = (row.column(key) for row in self.rows)
        return next((column.better for column in columns if column is not None), None)
