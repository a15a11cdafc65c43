"""Scores by the length of the source: what the figure by length shows."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnjax.evaluation.measures.by_length import NAMES, by_length
from attnjax.evaluation.sentence_stats import read
from attnjax.reporting.number import words

_PARTS = {name: parts for parts, name in NAMES.items()}
_METRIC = re.compile(rf"(.+_({'|'.join(_PARTS)}))_(\d+)")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the figure.

    Attributes:
        variant: its name.
        lengths: the mean length of the sources of each part, in symbols.
        values: for each part, a number a seed.
    """

    variant: str
    lengths: Sequence[float]
    values: Sequence[Sequence[float]]

    @property
    def means(self) -> list[tuple[float, float]]:
        """(mean length, mean over seeds) where there is one."""
        columns = zip(self.lengths, self.values, strict=True)
        return [(length, sum(column) / len(column)) for length, column in columns if column]


def panel(metric: str) -> str | None:
    """The panel of a metric by length, bleu_quartile of bleu_quartile_1; None: it is none."""
    found = _METRIC.fullmatch(metric)
    return found and found[1]


def lines(summary: Mapping[str, Any], runs: Mapping[str, Sequence[Path]]) -> dict[str, list[Line]]:
    """A panel a metric, a line a variant; without one that kept no lengths of its sources.

    Args:
        summary: see `reporting.page`.
        runs: each variant's folders.
    """
    drawn: dict[str, list[Line]] = defaultdict(list)
    for name in dict.fromkeys(filter(None, map(panel, summary["metrics"]))):
        parts = _PARTS[name.rpartition("_")[2]]
        for row in summary["rows"]:
            columns = [_finite(row, f"{name}_{part}") for part in range(1, parts + 1)]
            lengths = _lengths(runs[row["variant"]], parts)
            if lengths and any(columns):
                line = Line(variant=row["variant"], lengths=lengths, values=columns)
                drawn[words(name)].append(line)
    return dict(drawn)


def _lengths(runs: Sequence[Path], parts: int) -> list[float]:
    """The mean length of each part, as the first run that kept lengths has them."""
    for run in runs:
        kept = read(run)
        if kept is not None and kept.lengths is not None:
            return [float(kept.lengths[at].mean()) for at in by_length(kept.lengths, parts)]
    return []


def _finite(row: Mapping[str, Any], metric: str) -> list[float]:
    column = row.get("values", {}).get(metric, ())
    return [value for value in column if value is not None and math.isfinite(value)]
