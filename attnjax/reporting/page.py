"""The report of an experiment: a single HTML file, for screen and paper.

The page is the template report.html.jinja over a `Summary`, the learning curves (metrics.jsonl) and
the attention pictures (attention.json) of the runs. A section without content is left out; in the
place of a figure that cannot be drawn stands the reason.
"""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from attnjax.errors import first_line
from attnjax.files import write_atomically
from attnjax.reporting import drawing, evidence, figure
from attnjax.reporting.number import measured, number
from attnjax.reporting.runs import curve, folders, picture
from attnjax.reporting.series import Panel, by_length, mechanism
from attnjax.reporting.summary import ClaimRow, Summary
from attnjax.reporting.table import COSTS

FILE = "report.html"
TEMPLATE = "report.html.jinja"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure's SVG, or why it could not be drawn; neither if there is nothing to draw."""

    title: str
    chart: Markup | None
    problem: str = ""


@drawing.in_one_process()
def write(folder: Path, summary: Summary) -> Path:
    """Write the report of the experiment with its runs in `folder`; return the report's path."""
    here = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(here),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"minus": _minus}
    runs = {row.variant: folders(folder, row) for row in summary.rows}
    text = environment.get_template(TEMPLATE).render(
        summary=summary,
        say=evidence,
        number=number,
        measured=measured,
        question=summary.title.partition("  ")[0],
        whose=summary.title.partition("  ")[2].strip(),
        note=_prose(summary.note),
        forest=_forest,
        costs=COSTS,
        seeds=_seeds(summary),
        by_length=_panels(by_length(summary)),
        mechanism=_panels(mechanism(summary)),
        learning=_learning(runs),
        attention=_attention(runs),
        style=Markup((here / "style.css").read_text(encoding="utf-8")),
    )
    path = folder / FILE
    write_atomically(path, text)
    return path


def _prose(note: str) -> list[tuple[str, str]]:
    """The note's blocks: ("p", paragraph), or ("pre", code) for one that is indented."""
    blocks = textwrap.dedent(note).strip("\n").split("\n\n")
    return [
        ("pre", textwrap.dedent(block).strip("\n")) if block.startswith("    ") else ("p", block)
        for block in blocks
        if block.strip()
    ]


def _drawn(title: str, draw: Callable[..., Markup | None], *values: Any) -> Figure:
    """Draw a figure; an error becomes its `problem`, so that no error loses the report."""
    try:
        return Figure(title=title, chart=draw(*values))
    except Exception as error:
        problem = f"{type(error).__name__}: {first_line(error)}"
        return Figure(title=title, chart=None, problem=problem)


def _shown(figures: Iterable[Figure]) -> list[Figure]:
    """The figures that have a chart or a problem."""
    return [drawing for drawing in figures if drawing.chart is not None or drawing.problem]


def _forest(claim: ClaimRow) -> Figure:
    return _drawn(claim.text, figure.forest, claim)


def _seeds(summary: Summary) -> list[Figure]:
    columns = {
        key: {row.variant: column.values for row in summary.rows if (column := row.column(key))}
        for key in summary.keys(judged=True)
    }
    return _shown(
        _drawn(evidence.heading(summary, key), figure.seeds, str(key), values)
        for key, values in columns.items()
    )


def _panels(panels: Sequence[Panel]) -> list[Figure]:
    return [_drawn(panel.title, figure.lines, panel) for panel in panels]


def _learning(runs: Mapping[str, Sequence[Path]]) -> list[Figure]:
    train = {name: points for name, own in runs.items() if (points := curve(own, "train"))}
    valid = {name: points for name, own in runs.items() if (points := curve(own, "valid"))}
    names = [name for name in runs if name in train or name in valid]
    return [_drawn(name, figure.learning, name, train, valid) for name in names]


def _attention(runs: Mapping[str, Sequence[Path]]) -> list[Figure]:
    def draw(name: str) -> Markup | None:
        weights = picture(runs[name])
        return None if weights is None else figure.attention(name, weights)

    return _shown(_drawn(name, draw, name) for name in runs)


def _minus(text: str) -> str:
    """Replace hyphens before numbers by minus signs, which are as long as a plus."""
    return text.replace("-", "−")
