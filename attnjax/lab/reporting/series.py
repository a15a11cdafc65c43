"""The lines of figures: scores by source length, and measurements along an axis of the variants."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from attnjax.evaluation.measurement import MetricKey
from attnjax.lab.results.summary import Column, SlopeLine, Summary

COLORS = ("var(--accent)", "var(--second)", "var(--third)")
"""More colors cannot be told apart in light mode, in dark mode and in print."""

DASHES = ((1, 0), (6, 3), (2, 3))


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line of a figure.

    Attributes:
        values: for each place on the axis, one number per seed.
        dashes: the lengths of strokes and gaps.
        slope: the claimed slope on log-log axes; None: nothing is claimed.
    """

    name: str
    places: Sequence[float]
    values: Sequence[Sequence[float]]
    color: str
    dashes: tuple[int, int]
    slope: float | None = None

    @property
    def means(self) -> list[tuple[float, float]]:
        """(place, mean over seeds) of each place that has values."""
        columns = zip(self.places, self.values, strict=True)
        return [(place, sum(column) / len(column)) for place, column in columns if column]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One figure: a metric along an axis."""

    title: str
    axis: str
    series: Sequence[Series]
    logarithmic: bool = False


def by_length(summary: Summary) -> list[Panel]:
    """Return one panel for each metric by length, with a line for each variant.

    A variant that kept no lengths of its sources has no line.
    """
    panels: dict[tuple[str, int], list[Series]] = defaultdict(list)
    for row in summary.rows:
        columns_of: dict[tuple[str, int], list[Column]] = defaultdict(list)
        for column in (*row.columns, *row.by_length):
            if column.key.part is not None:
                columns_of[column.key.name, column.key.part[1]].append(column)
        for panel, columns in columns_of.items():
            lengths = [column.length for column in columns if column.length is not None]
            if len(lengths) == len(columns):
                dashes, color = divmod(len(panels[panel]), len(COLORS))
                line = Series(
                    name=row.variant,
                    places=lengths,
                    values=[finite(column.values) for column in columns],
                    color=COLORS[color],
                    dashes=DASHES[dashes % len(DASHES)],
                )
                panels[panel].append(line)
    axis = "symbols of the source"
    return [
        Panel(title=f"{name.replace('_', ' ')} in {parts} parts", axis=axis, series=series)
        for (name, parts), series in sorted(panels.items())
    ]


def mechanism(summary: Summary) -> list[Panel]:
    """Return one panel for each metric and axis, with a line for the variants of a claimed slope.

    Both moments of a metric share a panel. Drawn are the metrics of the claimed slopes and those
    that judge nothing; the axes are logarithmic, so values that are not positive are left out.
    """
    claimed = _claimed(summary)
    metrics = {key for regions in claimed.values() for key in regions}
    observed = [key for key in summary.keys(judged=False) if key.part is None]
    moments: dict[str, list[MetricKey]] = defaultdict(list)
    for key in dict.fromkeys([*observed, *sorted(metrics, key=str)]):
        moments[key.name].append(key)
    drawn = []
    for axis in dict.fromkeys(slope.axis for slope in claimed):
        slopes = {slope: regions for slope, regions in claimed.items() if slope.axis == axis}
        for name, keys in moments.items():
            series = [
                Series(
                    name=f"{slope.name}, {key.moment}" if len(keys) > 1 else slope.name,
                    places=[place for _, place in slope.over],
                    values=values,
                    color=COLORS[number % len(COLORS)],
                    dashes=DASHES[moment],
                    slope=regions.get(key),
                )
                for number, (slope, regions) in enumerate(slopes.items())
                for moment, key in enumerate(keys)
                if sum(map(bool, values := _positive(summary, slope, key))) > 1
            ]
            if series:
                title = name.replace("_", " ")
                drawn.append(Panel(title=title, axis=axis, series=series, logarithmic=True))
    return drawn


def _claimed(summary: Summary) -> dict[SlopeLine, dict[MetricKey, float | None]]:
    """Return the middle of each claimed slope's region, by metric; None: the region has none."""
    claimed: dict[SlopeLine, dict[MetricKey, float | None]] = defaultdict(dict)
    for claim in summary.claims:
        if claim.slope is not None:
            middle = sum(claim.region) / 2
            claimed[claim.slope][claim.metric] = middle if math.isfinite(middle) else None
    return claimed


def _positive(summary: Summary, slope: SlopeLine, key: MetricKey) -> list[list[float]]:
    """Return the positive values of a metric, for each position of a slope one number per seed."""
    columns = {row.variant: column for row in summary.rows if (column := row.column(key))}
    return [
        [value for value in finite(columns[name].values) if value > 0] if name in columns else []
        for name, _ in slope.over
    ]


def finite(values: Sequence[float | None]) -> list[float]:
    """Return the values that were measured and are finite."""
    return [value for value in values if value is not None and math.isfinite(value)]
