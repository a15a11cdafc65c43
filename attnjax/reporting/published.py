"""Ours beside the paper's."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One published figure and what came out here for the same variant.

    Attributes:
        paper: who and when.
        table: where in the paper.
        variant: the variant of the experiment that stands for it.
        metric: the metric's name, as in the summary.
        value: the published figure.
        source: the published words, or where the figure was read.
        ours: the mean over our seeds, None where the variant was not run or not measured so.
        deviation: its standard deviation over seeds, None for one seed.
    """

    paper: str
    table: str
    variant: str
    metric: str
    value: float
    source: str
    ours: float | None
    deviation: float | None

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None else self.ours - self.value


def compare(summary: dict[str, Any]) -> list[Comparison]:
    """Every published figure of a summary (its form: `reporting.page`), in the summary's order."""
    rows = {row["variant"]: row for row in summary["rows"]}
    comparisons = []
    for figure in summary.get("published") or ():
        row, metric = rows.get(figure["variant"], {}), figure["metric"]
        comparisons.append(
            Comparison(
                paper=figure["paper"],
                table=figure["table"],
                variant=figure["variant"],
                metric=metric,
                value=figure["value"],
                source=figure["source"],
                ours=row.get("mean", {}).get(metric),
                deviation=deviation(row, metric),
            )
        )
    return comparisons


def deviation(row: dict[str, Any], metric: str) -> float | None:
    """A row's standard deviation over seeds; None for one seed, which has none."""
    return row["standard_deviation"].get(metric) if row.get("n", 0) > 1 else None
