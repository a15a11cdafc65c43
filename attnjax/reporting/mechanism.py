"""Measurements along an axis, such as the key width: the lines of the mechanism figure."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnjax.evaluation.measurement import MetricKey
from attnjax.reporting.lengths import finite
from attnjax.reporting.summary import SlopeLine, Summary


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line of the figure.

    Attributes:
        name: the name in the legend.
        places: the variants' places on the axis.
        values: for each place, one number per seed.
        moment: the moment of the metric, initial or trained; it decides the dashes.
        group: the number of the set of variants; it decides the color.
        slope: the claimed slope on log-log axes; None: nothing is claimed.
    """

    name: str
    places: Sequence[float]
    values: Sequence[Sequence[float]]
    moment: int
    group: int
    slope: float | None

    @property
    def means(self) -> list[tuple[float, float]]:
        """(place, mean over seeds) of each place that has values."""
        columns = zip(self.places, self.values, strict=True)
        return [(place, sum(column) / len(column)) for place, column in columns if column]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One figure: a metric along an axis.

    Attributes:
        title: the name of the metric.
        axis: the name of the axis, in which the variants differ.
        series: the lines.
    """

    title: str
    axis: str
    series: Sequence[Series]


def panels(summary: Summary) -> list[Panel]:
    """One panel for each metric and axis, with a line for each set of variants of a claimed slope.

    Both moments of a metric share a panel. Drawn are the metrics of the claimed slopes and those
    that judge nothing; the axes are logarithmic, so values that are not positive are left out.
    """
    claimed: dict[SlopeLine, dict[MetricKey, float | None]] = defaultdict(dict)
    for claim in summary.claims:
        if claim.slope is not None:
            claimed[claim.slope][claim.metric] = _middle(claim.region)
    named = {key for regions in claimed.values() for key in regions}
    observed = [key for key in summary.keys(judged=False) if key.part is None]
    keys: dict[str, list[MetricKey]] = defaultdict(list)
    for key in dict.fromkeys([*observed, *sorted(named, key=str)]):
        keys[key.name].append(key)
    drawn = []
    for axis in dict.fromkeys(slope.axis for slope in claimed):
        slopes = {slope: regions for slope, regions in claimed.items() if slope.axis == axis}
        for name, moments in keys.items():
            series = _series(summary, slopes, moments)
            if series:
                drawn.append(Panel(title=name.replace("_", " "), axis=axis, series=series))
    return drawn


def _series(
    summary: Summary,
    slopes: Mapping[SlopeLine, Mapping[MetricKey, float | None]],
    moments: Sequence[MetricKey],
) -> list[Series]:
    """The lines of one metric: one per set of variants and moment."""
    rows = {row.variant: row for row in summary.rows}
    names = _names([[variant for variant, _ in slope.over] for slope in slopes])
    lines = []
    for group, (slope, regions) in enumerate(slopes.items()):
        for moment, key in enumerate(moments):
            columns = [
                rows[variant].column(key) if variant in rows else None for variant, _ in slope.over
            ]
            values = [
                [value for value in finite(column.values) if value > 0] if column else []
                for column in columns
            ]
            if sum(map(bool, values)) > 1:
                label = [names[group], key.moment if len(moments) > 1 else None]
                lines.append(
                    Series(
                        name=", ".join(filter(None, label)) or key.name.replace("_", " "),
                        places=[place for _, place in slope.over],
                        values=values,
                        moment=moment,
                        group=group,
                        slope=regions.get(key),
                    )
                )
    return lines


def _names(sets: list[list[str]]) -> list[str]:
    """The common part of the names in each set: "unscaled" for unscaled_16 and unscaled_64."""
    names = []
    for variants in sets:
        parts = [re.split(r"[\s_/,-]+", variant) for variant in variants]
        names.append(" ".join(part for part in parts[0] if all(part in other for other in parts)))
    return names if len(set(names)) == len(names) else [variants[0] for variants in sets]


def _middle(region: tuple[float, float]) -> float | None:
    (middle,) = finite([sum(region) / 2]) or [None]
    return middle
