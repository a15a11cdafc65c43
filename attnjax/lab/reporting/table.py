"""An experiment's summary for the terminal and for logs."""

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from attnjax.config.console import PlainConsole, WholeFigures
from attnjax.evaluation.measurement import MetricKey
from attnjax.lab.reporting import crossings, evidence as say
from attnjax.lab.reporting.number import measured, number
from attnjax.lab.results.summary import ClaimRow, Row, Summary

COSTS = ("n", "parameters", "seconds")
SPREAD = "±: the standard deviation over seeds"
TIME = "seconds: of training, all seeds together"
_BESIDE_COSTS, _BESIDE = 2, 3
"""The numbers of metrics that fit into 80 columns, beside variant and costs, and without costs."""
_STYLES = {"reproduced": "bold blue", "not reproduced": "bold red"}


def table(summary: Summary, *, verbose: bool = False) -> RenderableType:
    """Return changes, results, claims and published figures, as rich prints them.

    A claim has three lines; `verbose` adds the value of each seed and the source.
    """
    return Group(*_parts(summary, verbose))


def plain(summary: Summary, *, verbose: bool = False) -> str:
    """Return the table without color; rows are never broken."""
    # the table is as wide as its content; the console must not be narrower
    console = PlainConsole(
        file=io.StringIO(), width=10_000, color_system=None, force_terminal=False
    )
    with console.capture() as capture:
        console.print(table(summary, verbose=verbose))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _parts(summary: Summary, verbose: bool) -> Iterator[RenderableType]:
    judged, observed = summary.keys(judged=True), summary.keys(judged=False)
    yield Text(summary.title, style="bold")
    if summary.changes:
        lines = [say.changed(change, summary.rows) for change in summary.changes]
        yield Text("\n  ".join(["changed from the experiment file:", *lines]))
    yield from map(Text, summary.remarks)
    if summary.crossing is not None:
        for part in crossings.parts(summary):
            yield Text(part.text)
            yield _table(("",), part.rows, part.headings)
    else:
        yield _results(summary, judged[:_BESIDE_COSTS], COSTS)
        for metrics in (judged[_BESIDE_COSTS:], observed):
            for start in range(0, len(metrics), _BESIDE):
                yield _results(summary, metrics[start : start + _BESIDE], ())
        yield Text("; ".join([SPREAD, TIME] if summary.has_deviations else [TIME]))
    if tunings := summary.tunings:
        yield Text(say.tuned(tunings))
        rows = ((row.variant, say.losses(row), say.chosen(row)) for row in tunings)
        yield _table(("variant", "validation loss at each value", "chosen"), rows)
    if summary.claims:
        yield _claims(summary.claims, verbose)
    if summary.published:
        rows = (
            (
                say.published(figure),
                figure.variant,
                str(figure.metric),
                f"{figure.value:.10g}",
                measured(figure.ours, figure.deviation),
                number(figure.difference, 3),
            )
            for figure in summary.published
        )
        numbers = ("theirs", "ours", "difference")
        yield _table(("published", "variant", "metric"), rows, numbers)
    if summary.left_out:
        rows = ((claim.text, claim.reason) for claim in summary.left_out)
        yield _table(("left out", "because"), rows)


def _results(summary: Summary, metrics: Sequence[MetricKey], costs: Sequence[str]) -> Table:
    headings = [say.heading(summary, key) for key in metrics]
    rows = [row for row in summary.rows if not metrics or row.has(metrics)]
    return _table(("variant",), (_cells(row, metrics, costs) for row in rows), [*headings, *costs])


def _claims(claims: Iterable[ClaimRow], verbose: bool) -> Table:
    drawn = _table(("verdict", "claim"), ())
    for claim in claims:
        if verbose:
            lines = [claim.text, say.evidence(claim), say.seeds(claim), say.origin(claim)]
        else:
            decided = filter(None, (say.target(claim), say.cause(claim)))
            lines = [claim.text, say.estimated(claim), "; ".join(decided)]
        verdict = Text(
            say.verdict(claim) + say.machine(claim), style=_STYLES.get(claim.verdict, "bold")
        )
        drawn.add_row(verdict, Text("\n".join(lines)))
    return drawn


def _cells(row: Row, metrics: Sequence[MetricKey], costs: Sequence[str]) -> Iterator[str]:
    yield row.variant
    for column in map(row.column, metrics):
        yield measured(column.mean, column.deviation) if column else measured(None, None)
    if costs:
        yield from map(say.count, (len(row.seeds), row.parameters, row.seconds))


def _table(
    texts: Sequence[str], rows: Iterable[Iterable[str]], numbers: Sequence[str] = ()
) -> Table:
    """Draw a table whose widest columns are broken first on a narrow screen."""
    drawn = WholeFigures(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in texts:
        drawn.add_column(Text(name), overflow="fold")
    for name in numbers:
        drawn.add_column(Text(textwrap.fill(name, 17)), justify="right", overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    return drawn
