"""How the measured quantities change with the key width: what the mechanism figure shows."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attnjax.reporting.lengths import panel
from attnjax.reporting.number import words
from attnjax.reporting.table import metric_groups


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line of the figure.

    Attributes:
        name: what the legend says.
        widths: the key widths.
        values: for each width, a number a seed.
        moment: which of a quantity's moments (initial, trained) it is; decides the dashes.
        group: which set of variants it is; decides the colour.
        slope: the claimed slope on log-log axes, None where nothing is claimed.
    """

    name: str
    widths: Sequence[float]
    values: Sequence[Sequence[float]]
    moment: int
    group: int
    slope: float | None

    @property
    def means(self) -> list[tuple[float, float]]:
        """(width, mean over seeds) where there is one."""
        columns = zip(self.widths, self.values, strict=True)
        return [(width, sum(column) / len(column)) for width, column in columns if column]


def panels(summary: dict[str, Any]) -> dict[str, list[Series]]:
    """A panel a quantity, a line a set of variants that a claimed slope runs over.

    `logit_variance_initial` and `logit_variance_trained` share a panel. Drawn are the metrics of
    the claimed slopes and those without a better direction, but for scores by length, which have a
    figure of their own; the axes are logarithmic, so what is not positive is left out.
    """
    slopes: dict[tuple[tuple[str, float], ...], dict[str, float | None]] = defaultdict(dict)
    for claim in summary.get("claims") or ():
        quantity = claim.get("quantity") or {}
        if quantity.get("kind") == "slope":
            over = tuple((variant, width) for variant, width in quantity["over"])
            slopes[over][quantity["metric"]] = _middle(claim["region"])
    rows = {row["variant"]: row for row in summary["rows"]}
    drawn: dict[str, list[Series]] = {}
    names = _names([[variant for variant, _ in over] for over in slopes])
    for stem, metrics in _stems(summary, slopes.values()).items():
        lines = []
        for group, (over, claimed) in enumerate(slopes.items()):
            for moment, (metric, label) in enumerate(metrics.items()):
                values = [_positive(rows.get(variant, {}), metric) for variant, _ in over]
                if sum(map(bool, values)) > 1:
                    lines.append(
                        Series(
                            name=", ".join(part for part in (names[group], label) if part) or stem,
                            widths=[width for _, width in over],
                            values=values,
                            moment=moment,
                            group=group,
                            slope=claimed.get(metric),
                        )
                    )
        if lines:
            drawn[words(stem)] = lines
    return drawn


def _stems(summary: dict[str, Any], claimed: Any) -> dict[str, dict[str, str]]:
    """Estimand: its metrics, each with the name of its moment ("" where it has only one)."""
    if not claimed:
        return {}
    named = {metric for metrics in claimed for metric in metrics}
    _, observed = metric_groups(summary)
    metrics = [m for m in summary["metrics"] if m in named or (m in observed and not panel(m))]
    stems: dict[str, dict[str, str]] = defaultdict(dict)
    for metric in metrics:
        stem, _, moment = metric.rpartition("_")
        alone = sum(other.rpartition("_")[0] == stem for other in metrics) == 1
        stems[metric if alone or not stem else stem][metric] = "" if alone or not stem else moment
    return stems


def _names(sets: list[list[str]]) -> list[str]:
    """What the variants of each set have in common: unscaled_16, unscaled_64 is "unscaled"."""
    names = []
    for variants in sets:
        parts = [re.split(r"[\s_/,-]+", variant) for variant in variants]
        names.append(" ".join(part for part in parts[0] if all(part in other for other in parts)))
    return names if len(set(names)) == len(names) else [sets[i][0] for i in range(len(sets))]


def _positive(row: dict[str, Any], metric: str) -> list[float]:
    column = row.get("values", {}).get(metric, ())
    return [v for v in column if v is not None and math.isfinite(v) and v > 0]


def _middle(region: Sequence[float | None]) -> float | None:
    low, high = region
    return None if low is None or high is None else (low + high) / 2
