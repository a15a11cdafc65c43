"""Pictures of recorded experiments, a file each: SVG for a light and a dark page.

A picture says in its first line which numbers it was drawn from. It is drawn again if these change,
and else left as it is, because other versions of the drawing library place text a little elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from attnjax.evaluation.measurement import MetricKey
from attnjax.experiment.design import short_digest
from attnjax.experiment.trend import LengthGain
from attnjax.files import write_atomically
from attnjax.lab.reporting import figure
from attnjax.lab.reporting.number import number
from attnjax.lab.reporting.recorded import Recorded
from attnjax.lab.reporting.series import Panel, by_length, finite, mechanism
from attnjax.lab.results.summary import Summary

MARK = "<!-- drawn from the numbers {} -->\n"
"""The first line of a picture, with a digest of what it shows."""

LINES = 6
"""More lines by length than these cannot be told apart."""

STYLE = """<style>
svg { color: #1c2127; font-family: sans-serif; --paper: #ffffff;
  --accent: #0072b2; --second: #d55e00; --third: #00855f; --faint: #c5cbd3; }
@media (prefers-color-scheme: dark) { svg { color: #e3e6ea; --paper: #14171b;
  --accent: #56b4e9; --second: #f0a04b; --third: #3cc79b; --faint: #454d57; } }
</style>"""
"""The colors of style.css, for a picture that no page gives them to."""


@dataclass(frozen=True, kw_only=True)
class SeedDots:
    """A metric of each variant: a dot for each seed, a stroke at the mean."""

    metric: str
    values: Mapping[str, Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class Crossed:
    """Crossed variants, as `figure.crossing_values` gives them."""

    values: Mapping[str, Any]


type Shown = Panel | SeedDots | Crossed


def shown(experiment: Recorded) -> Shown | None:
    """Return what is drawn of an experiment; None: it has no numbers.

    Crossed variants are a table of shades. Else a claimed slope is a line on logarithmic axes, a
    claim about length a line by length, and any other a metric of each variant: that of the first
    claim with a verdict; without claims, that which judges the most variants.
    """
    summary = experiment.summary
    if values := figure.crossing_values(summary):
        return Crossed(values=values)
    rows = summary.claims
    if any(row.slope is not None for row in rows[:1]):
        return next(filter(_has_values, mechanism(summary)), None)
    estimands = [claim.estimand for claim in experiment.loaded.ablation.claims]
    parts = [part for part in estimands if isinstance(part, LengthGain) or part.key.part]
    if parts:
        names = {part.key.name.replace("_", " ") for part in parts}
        for panel in filter(_has_values, by_length(summary)):
            if panel.title.partition(" in ")[0] in names and len(panel.series) <= LINES:
                return panel
    return _dots(summary)


def _has_values(panel: Panel) -> bool:
    """Return whether each line of a panel has a number."""
    return all(line.means for line in panel.series)


def _dots(summary: Summary) -> SeedDots | None:
    """Return the metric of the first claim, or that which judges the most variants."""
    keys = [row.metric for row in summary.claims][:1] or summary.keys(judged=True)
    drawn = [SeedDots(metric=str(key), values=_finite_values(summary, key)) for key in keys]
    most = max(drawn, key=lambda dots: len(dots.values), default=None)
    return most if most and most.values else None


def _finite_values(summary: Summary, key: MetricKey) -> dict[str, list[float]]:
    """Return the finite values over seeds of a metric of each variant that has some."""
    columns = {row.variant: column for row in summary.rows if (column := row.column(key))}
    return {name: own for name, of in columns.items() if (own := finite(of.values))}


def draw(content: Shown, path: Path) -> bool:
    """Draw what is shown as a file, unless the file has it; return whether the file is there."""
    mark = MARK.format(_digest(content))
    if path.is_file() and _begins(path, mark):
        return True
    try:
        if isinstance(content, Panel):
            drawn = figure.lines(content)
        elif isinstance(content, Crossed):
            drawn = figure.crossed(content.values)
        else:
            drawn = figure.dots(content.metric, content.values)
    except ValueError:  # the warning of `drawing` says it
        return False
    write_atomically(path, mark + _alone(drawn))
    return True


def drawn_here(path: Path) -> bool:
    """Return whether a file is a picture of ours."""
    begin, _, _ = MARK.partition("{}")
    return _begins(path, begin)


def _begins(path: Path, mark: str) -> bool:
    """Return whether a file, which may be no text, begins with a mark."""
    return path.read_bytes().startswith(mark.encode())


def _digest(content: Shown) -> str:
    def rounded(item: object) -> object:
        if isinstance(item, Mapping):
            return {str(key): rounded(value) for key, value in item.items()}
        if isinstance(item, list | tuple):
            return [rounded(value) for value in item]
        return number(item, 6) if isinstance(item, float) else item

    return short_digest(rounded(asdict(content)))


def _alone(drawn: Markup) -> str:
    """Return a figure of a page as a file of its own: with a namespace and its colors."""
    head, _, body = str(drawn).partition(">")
    return f"{head.replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg"', 1)}>{STYLE}{body}\n"
