"""An experiment's summary for the terminal and for logs."""

import io
import textwrap
from collections.abc import Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from attnjax.evaluation.measurement import MetricKey
from attnjax.reporting import evidence as say
from attnjax.reporting.number import measured, number
from attnjax.reporting.summary import ClaimRow, LeftOut, PublishedRow, Summary, TuningRow

COSTS = ("n", "parameters", "seconds")
SPREAD = "±: the standard deviation over seeds"
TIME = "seconds: of training, all seeds together"
_BESIDE_COSTS, _BESIDE = 2, 3
"""The numbers of metrics that fit into 80 columns, beside variant and costs, and without costs."""
_STYLES = {
    "reproduced": "bold blue",
    "not reproduced": "bold red",
    "undecided": "bold",
    "not trained": "bold",
    "not judged yet": "bold",
    "depends on the rate": "bold",
}


def table(summary: Summary) -> RenderableType:
    """Changes, results, claims and published figures."""
    judged, observed = summary.keys(judged=True), summary.keys(judged=False)
    parts: list[RenderableType] = [Text(summary.title, style="bold")]
    if summary.changes:
        lines = [say.changed(change, summary.rows) for change in summary.changes]
        parts.append(Text("\n  ".join(["changed from the experiment file:", *lines])))
    parts += map(Text, summary.remarks)
    parts.append(_results(summary, judged[:_BESIDE_COSTS], COSTS))
    for metrics in (judged[_BESIDE_COSTS:], observed):
        for start in range(0, len(metrics), _BESIDE):
            parts.append(_results(summary, metrics[start : start + _BESIDE], ()))
    spread = any(column.deviation is not None for row in summary.rows for column in row.columns)
    parts.append(Text("; ".join([SPREAD, TIME] if spread else [TIME])))
    if summary.tunings:
        parts += [Text(say.tuned(summary.tunings)), _tunings(summary.tunings)]
    if summary.claims:
        parts.append(_claims(summary.claims))
    if summary.published:
        parts.append(_published(summary.published))
    if summary.left_out:
        parts.append(_left_out(summary.left_out))
    return Group(*parts)


def plain(summary: Summary) -> str:
    """The table without color; rows are never broken."""
    # the table is as wide as its content; the console must not be narrower
    console = Console(file=io.StringIO(), width=10_000, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(table(summary))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _results(summary: Summary, metrics: Sequence[MetricKey], costs: Sequence[str]) -> Table:
    drawn = _table("variant", numbers=[*(say.heading(summary, key) for key in metrics), *costs])
    for row in summary.rows:
        columns = [row.column(key) for key in metrics]
        if not metrics or row.has(metrics):
            cells = [
                measured(column.mean, column.deviation) if column else measured(None, None)
                for column in columns
            ]
            costly = [len(row.seeds), row.parameters, row.seconds] if costs else []
            drawn.add_row(Text(row.variant), *cells, *map(say.count, costly))
    return drawn


def _claims(claims: Sequence[ClaimRow]) -> Table:
    drawn = _table("verdict", "claim")
    for claim in claims:
        lines = [claim.text, say.evidence(claim), say.seeds(claim), say.origin(claim)]
        style = _STYLES.get(claim.verdict, "")
        drawn.add_row(Text(say.verdict(claim), style=style), Text("\n".join(lines)))
    return drawn


def _tunings(tunings: Sequence[TuningRow]) -> Table:
    drawn = _table("variant", "validation loss at each value", "chosen")
    for tuning in tunings:
        drawn.add_row(Text(tuning.variant), Text(say.losses(tuning)), Text(say.chosen(tuning)))
    return drawn


def _published(figures: Sequence[PublishedRow]) -> Table:
    drawn = _table("published", "variant", "metric", numbers=["theirs", "ours", "difference"])
    for figure in figures:
        drawn.add_row(
            Text(say.published(figure)),
            Text(figure.variant),
            Text(str(figure.metric)),
            f"{figure.value:.10g}",
            measured(figure.ours, figure.deviation),
            number(figure.difference, 3),
        )
    return drawn


def _left_out(left_out: Sequence[LeftOut]) -> Table:
    drawn = _table("left out", "because")
    for claim in left_out:
        drawn.add_row(Text(claim.text), Text(claim.reason))
    return drawn


def _table(*texts: str, numbers: Sequence[str] = ()) -> Table:
    """A table whose texts are broken on a narrow screen; numbers are not broken."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in texts:
        drawn.add_column(Text(name), overflow="fold")
    for name in numbers:
        drawn.add_column(Text(textwrap.fill(name, 17)), justify="right", no_wrap=True)
    return drawn
