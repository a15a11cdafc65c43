"""An experiment's summary for the terminal and for logs."""

import io
import textwrap
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from attnjax.reporting.number import MISSING, estimate, interval, measured, number, words
from attnjax.reporting.published import compare, deviation

ARROWS = {"higher": "↑", "lower": "↓"}
MARKS = {"reproduced": "✓", "not reproduced": "✗", "undecided": "?"}
COSTS = ("n", "parameters", "seconds")
_BESIDE_COSTS, _BESIDE = 2, 3
"""Metrics abreast that fit into 80 columns, with the variant and the costs, and without these."""
_STYLES = {"reproduced": "bold blue", "not reproduced": "bold red", "undecided": "bold"}


def table(summary: dict[str, Any]) -> RenderableType:
    """Results, claims and published figures of a summary (its form: `reporting.page`)."""
    judged, observed = metric_groups(summary)
    parts: list[RenderableType] = [Text(summary["title"], style="bold")]
    parts.append(_results(summary, judged[:_BESIDE_COSTS], COSTS))
    for metrics in (judged[_BESIDE_COSTS:], observed):
        for start in range(0, len(metrics), _BESIDE):
            parts.append(_results(summary, metrics[start : start + _BESIDE], ()))
    if summary.get("claims"):
        parts.append(_claims(summary["claims"]))
    if left := unjudged(summary):
        parts.append(Text(left))
    if summary.get("published"):
        parts.append(_published(summary))
    return Group(*parts)


def plain(summary: dict[str, Any]) -> str:
    """The same without colour, a line a row however long it is."""
    # A table is as wide as what it holds; the console only must not be narrower.
    console = Console(file=io.StringIO(), width=10_000, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(table(summary))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def metric_groups(summary: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The metrics that say how good a variant is, and those that only describe it."""
    better = summary.get("better") or {}
    judged = [metric for metric in summary["metrics"] if metric in better]
    return judged, [metric for metric in summary["metrics"] if metric not in better]


def measured_rows(summary: dict[str, Any], metrics: Sequence[str]) -> list[dict[str, Any]]:
    """The variants for which at least one of these metrics was measured; all, for no metrics."""
    rows = summary["rows"]
    return [row for row in rows if not metrics or any(m in row["mean"] for m in metrics)]


def heading(summary: dict[str, Any], metric: str) -> str:
    """The metric in words, and an arrow where one direction is better."""
    arrow = ARROWS.get((summary.get("better") or {}).get(metric, ""), "")
    return f"{words(metric)} {arrow}".rstrip()


def unjudged(summary: dict[str, Any]) -> str:
    """Which claims have no verdict, and for want of what; nothing if all have one."""
    left = summary.get("unjudged") or ()
    if not left:
        return ""
    claims = "1 claim is" if len(left) == 1 else f"{len(left)} claims are"
    missing = sorted({name for claim in left for name in claim["missing"]})
    return f"{claims} not judged, for want of {', '.join(missing)}"


def count(value: float | None) -> str:
    """A whole number with its thousands apart."""
    return MISSING if value is None else f"{value:,.0f}"


def evidence(claim: dict[str, Any]) -> str:
    """What a verdict rests on: the estimate, its interval, and the claimed region."""
    found, ends = estimate(claim["estimate"], claim["low"], claim["high"])
    over = (claim.get("quantity") or {}).get("interval")
    share = "95 %" if over is None else f"95 % over {over}"
    return f"{found} ({share}: {ends}); claimed: {interval(*claim['region'])}"


def _results(summary: dict[str, Any], metrics: Sequence[str], costs: Sequence[str]) -> Table:
    drawn = _table("variant", numbers=[*(heading(summary, m) for m in metrics), *costs])
    for row in measured_rows(summary, metrics):
        cells = [measured(row["mean"].get(m), deviation(row, m)) for m in metrics]
        drawn.add_row(Text(row["variant"]), *cells, *(count(row.get(name)) for name in costs))
    return drawn


def _claims(claims: Sequence[dict[str, Any]]) -> Table:
    drawn = _table("verdict", "claim")
    for claim in claims:
        verdict = claim["verdict"]
        drawn.add_row(
            Text(f"{MARKS.get(verdict, ' ')} {verdict}", style=_STYLES.get(verdict, "")),
            Text(f"{claim['text']}\n{evidence(claim)}"),
        )
    drawn.columns[0].no_wrap = True
    return drawn


def _published(summary: dict[str, Any]) -> Table:
    drawn = _table("published", "variant", "metric", numbers=["theirs", "ours", "difference"])
    for figure in compare(summary):
        drawn.add_row(
            Text(f"{figure.paper}, {figure.table}"),
            Text(figure.variant),
            Text(words(figure.metric)),
            f"{figure.value:.10g}",
            measured(figure.ours, figure.deviation),
            number(figure.difference, 3),
        )
    return drawn


def _table(*texts: str, numbers: Sequence[str] = ()) -> Table:
    """A table in which texts are broken where the screen is narrow, and numbers are not."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in texts:
        drawn.add_column(Text(name), overflow="fold")
    for name in numbers:
        drawn.add_column(Text(textwrap.fill(name, 17)), justify="right", no_wrap=True)
    return drawn
