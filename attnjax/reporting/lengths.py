"""Scores by source length: the lines of the figure."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from attnjax.reporting.summary import Summary


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the figure.

    Attributes:
        variant: the name of the variant.
        lengths: the mean length of the sources of each part, in symbols.
        values: for each part, one number per seed.
    """

    variant: str
    lengths: Sequence[float]
    values: Sequence[Sequence[float]]

    @property
    def means(self) -> list[tuple[float, float]]:
        """(mean length, mean over seeds) of each part that has values."""
        columns = zip(self.lengths, self.values, strict=True)
        return [(length, sum(column) / len(column)) for length, column in columns if column]


def lines(summary: Summary) -> dict[str, list[Line]]:
    """The lines of each metric that was measured by length, one for each variant.

    A variant that kept no lengths of its sources has no line.
    """
    drawn: dict[str, list[Line]] = defaultdict(list)
    names = {(key.name, key.part[1]) for key in summary.keys(judged=True) if key.part}
    for name, parts in sorted(names):
        for row in summary.rows:
            columns = [
                column
                for column in row.columns
                if column.key.name == name and column.key.part and column.key.part[1] == parts
            ]
            lengths = [column.length for column in columns if column.length is not None]
            if columns and len(lengths) == len(columns):
                values = [finite(column.values) for column in columns]
                drawn[f"{name.replace('_', ' ')} in {parts} parts"].append(
                    Line(variant=row.variant, lengths=lengths, values=values)
                )
    return dict(drawn)


def finite(values: Sequence[float | None]) -> list[float]:
    """The values that were measured and are finite."""
    return [value for value in values if value is not None and math.isfinite(value)]
