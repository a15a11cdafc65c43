"""The results of crossed variants as one table of rows and columns, and as one picture."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.statistics import CONFIDENCE, share_interval
from attnjax.lab.reporting.number import MISSING
from attnjax.lab.results.summary import Row, Summary

ENTERED = "▸ "
"""Stands before the rows that are one's own."""

STATE, CACHE = MetricKey("state_numbers"), MetricKey("cache_numbers")

LEGEND = (
    "% right, the mean over seeds, at lengths of training / at greater lengths; *: none is above it"
    "; (2): of 2 seeds where others have more"
)
COSTS = (
    "of the first column: parameters, numbers that a layer keeps, and milliseconds of an update of "
    "one seed, on the machine that trained it"
)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A table with a sentence about it; the first cell of a row is its name."""

    text: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class CrossedCell:
    """The numbers of a row in a column: for each metric mean and interval; None: not measured.

    `seeds` is their number, and `few` says whether another cell of the column has more; `best` says
    whether no mean of the last metric is above that of this cell, of those with the most seeds.
    """

    row: str
    column: str
    values: tuple[tuple[float, float, float] | None, ...]
    seeds: int
    few: bool = False
    best: bool = False

    @property
    def means(self) -> list[float | None]:
        return [None if value is None else value[0] for value in self.values]


def cells(summary: Summary) -> list[CrossedCell]:
    """Return a cell for each row and column that has results, row by row."""
    crossing = summary.crossing
    if crossing is None:
        return []
    measured = {row.variant: row for row in summary.rows}
    found: list[CrossedCell] = []
    for name in crossing.rows:
        for column, metrics in crossing.columns.items():
            row = measured.get(crossing.variant(name, column))
            if row is not None:
                values = tuple(_share(row, MetricKey(metric)) for metric in metrics)
                seeds = len({*row.seeds})
                found.append(CrossedCell(row=name, column=column, values=values, seeds=seeds))
    return [
        _compared(cell, [other for other in found if other.column == cell.column]) for cell in found
    ]


def _compared(cell: CrossedCell, column: Sequence[CrossedCell]) -> CrossedCell:
    """Return a cell that knows whether it has fewer seeds than others, or is the best of most."""
    most = max(other.seeds for other in column)
    top = max(_last(other) for other in column if other.seeds == most)
    few = cell.seeds < most
    return replace(cell, few=few, best=not few and math.isfinite(top) and _last(cell) == top)


def _last(cell: CrossedCell) -> float:
    """Return the mean of the last metric; one that is not finite is below all others."""
    value = cell.values[-1] if cell.values else None
    return -math.inf if value is None or not math.isfinite(value[0]) else value[0]


def _share(row: Row, key: MetricKey) -> tuple[float, float, float] | None:
    """Return the mean of a share over seeds with its 95 % interval; None: it was not measured."""
    column = row.column(key)
    if column is None or not column.measured:
        return None
    return share_interval(column.measured, math.inf, CONFIDENCE)


def parts(summary: Summary) -> Iterator[Part]:
    """Yield the table of shares, then that of costs."""
    crossing, found = summary.crossing, cells(summary)
    if crossing is None:
        return
    there = {(cell.row, cell.column): cell for cell in found}
    names = [name for name in crossing.rows if any(name == cell.row for cell in found)]
    rows = tuple(
        (
            marked(name, crossing.entered),
            *(in_percent(there.get((name, column))) for column in crossing.columns),
        )
        for name in names
    )
    guesses = tuple(
        (name, *(_percent(shares[column]) for column in crossing.columns))
        for name, shares in crossing.guesses.items()
    )
    yield Part(text=LEGEND, headings=tuple(crossing.columns), rows=(*rows, *guesses))
    costs = tuple((marked(name, crossing.entered), *_costs(summary, name)) for name in names)
    headings = ("parameters", "state", "and a word", "ms an update")
    yield Part(text=COSTS, headings=headings, rows=costs)


def with_intervals(summary: Summary) -> Iterator[Part]:
    """Yield a table for each column that has results: every row's numbers with their intervals."""
    crossing, found = summary.crossing, cells(summary)
    if crossing is None:
        return
    for column, metrics in crossing.columns.items():
        rows = tuple(
            (marked(cell.row, crossing.entered), *map(with_interval, cell.values))
            for cell in found
            if cell.column == column
        )
        headings = tuple(str(MetricKey(metric)) for metric in metrics)
        if rows:
            yield Part(text=column, headings=headings, rows=rows)


def marked(name: str, entered: Sequence[str]) -> str:
    """Return the name of a row, with a mark before one's own."""
    return f"{ENTERED}{name}" if name in entered else name


def in_percent(cell: CrossedCell | None) -> str:
    """Return the means of a cell in words: "100 / 52*"."""
    if cell is None:
        return MISSING
    return _percent(cell.means) + ("*" if cell.best else f" ({cell.seeds})" if cell.few else "")


def _percent(shares: Sequence[float | None]) -> str:
    return " / ".join(MISSING if share is None else f"{100 * share:.0f}" for share in shares)


def with_interval(value: tuple[float, float, float] | None) -> str:
    """Return a share with its interval, in percent: "99.6 (98.1 to 99.9)"."""
    if value is None:
        return MISSING
    mean, low, high = (100 * number for number in value)
    return f"{mean:.1f} ({low:.1f} to {high:.1f})"


def _costs(summary: Summary, name: str) -> tuple[str, ...]:
    """Return parameters, numbers of the state, and time of a row, in the first column with runs."""
    crossing = summary.crossing
    assert crossing is not None
    wanted = [crossing.variant(name, column) for column in crossing.columns]
    row = next(row for row in summary.rows if row.variant in wanted)
    state, cache = (row.column(key) for key in (STATE, CACHE))
    updates = sum(record.updates for record in row.records)
    return (
        f"{row.parameters:,}",
        MISSING if state is None or not state.mean else f"{state.mean:,.0f}",
        MISSING if cache is None or not cache.mean else f"{cache.mean:,.0f}",
        f"{1000 * row.seconds / updates:.1f}" if updates else MISSING,
    )
