"""The report of an experiment: a single HTML file, for screen and paper.

The page is the template report.html.jinja over a `Summary`, and over the learning curves, the
attention and the answers of the runs. A section without content is left out; in the place of a
figure that cannot be drawn stands the reason. What needs no script is drawn without: the script
puts figures that a reader works in into the place of still ones.
"""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from attnjax.errors import UserError, first_line
from attnjax.files import write_atomically
from attnjax.reporting import drawing, embedded, evidence, figure
from attnjax.reporting.costs import costs
from attnjax.reporting.number import measured, number
from attnjax.reporting.runs import attention, folders, head_picture, losses
from attnjax.reporting.series import Panel, by_length, mechanism
from attnjax.reporting.summary import ClaimRow, Summary
from attnjax.reporting.table import COSTS

FILE = "report.html"
TEMPLATE = "report.html.jinja"
SCRIPTS = ("report.js", "attention.js", "curves.js", "answers.js", "refresh.js")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure's SVG, or why it could not be drawn; neither if there is nothing to draw."""

    title: str
    chart: Markup | None
    problem: str = ""


@drawing.in_one_process()
def write(folder: Path, summary: Summary, sentences: int | None = None) -> Path:
    """Write the report of the experiment with its runs in `folder`; return the report's path.

    For `sentences` see `embedded.attentions`.
    """
    runs = {row.variant: folders(folder, row) for row in summary.rows}
    data, runtime = _embedded(folder, runs, sentences)
    content = render(
        TEMPLATE,
        summary=summary,
        say=evidence,
        number=number,
        measured=measured,
        question=summary.title.partition("  ")[0],
        whose=summary.title.partition("  ")[2].strip(),
        note=_prose(summary.note),
        forest=_forest,
        costs=COSTS,
        spent=costs(summary, runs),
        seeds=_seeds(summary),
        by_length=_panels(by_length(summary)),
        mechanism=_panels(mechanism(summary)),
        learning=_learning(runs),
        attention=_attention(runs),
        data=data,
        runtime=runtime,
        script=text(*SCRIPTS),
    )
    path = folder / FILE
    write_atomically(path, content)
    return path


def render(template: str, **values: Any) -> str:
    """A template beside this file with its values, and the style of all pages."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"minus": _minus}
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment.get_template(template).render(style=text("style.css"), **values)


def text(*names: str) -> Markup:
    """The content of files beside this one."""
    here = Path(__file__).parent
    return Markup("\n".join((here / name).read_text(encoding="utf-8") for name in names))


def _embedded(
    folder: Path, runs: Mapping[str, Sequence[Path]], sentences: int | None
) -> tuple[dict[str, Any], Markup]:
    """The script's data, and the program that draws curves; what is damaged is left out."""
    data: dict[str, Any] = {}
    runtime = Markup("")
    with suppress(UserError):
        data["attention"] = embedded.attentions(runs, sentences)
    data["answers"] = embedded.answers(runs)
    if curves := embedded.curves(_logged(folder, runs)):
        with suppress(ValueError):  # the warning of `drawing` says it
            runtime, data["curves"] = Markup(drawing.runtime()), curves
    return {name: part for name, part in data.items() if part}, runtime


def _logged(folder: Path, runs: Mapping[str, Sequence[Path]]) -> dict[str, list[Path]]:
    """The runs of each variant, and those that are still being trained."""
    logged = {name: dict.fromkeys(own) for name, own in runs.items()}
    for path in sorted(folder.glob("*/seed-*/metrics.jsonl")):
        logged.setdefault(path.parents[1].name, {})[path.parent] = None
    return {name: [*own] for name, own in logged.items()}


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


def _forest(claim: ClaimRow) -> Figure:
    return _drawn(claim.text, figure.forest, claim)


def _seeds(summary: Summary) -> list[Figure]:
    columns = {
        key: {row.variant: column.values for row in summary.rows if (column := row.column(key))}
        for key in summary.keys(judged=True)
    }
    figures = [
        _drawn(evidence.heading(summary, key), figure.seeds, str(key), values)
        for key, values in columns.items()
    ]
    return [each for each in figures if each.chart is not None or each.problem]


def _panels(panels: Sequence[Panel]) -> list[Figure]:
    return [_drawn(panel.title, figure.lines, panel) for panel in panels]


def _learning(runs: Mapping[str, Sequence[Path]]) -> list[Figure]:
    train = {name: points for name, own in runs.items() if (points := losses(own, "train"))}
    valid = {name: points for name, own in runs.items() if (points := losses(own, "valid"))}
    names = [name for name in runs if name in train or name in valid]
    return [_drawn(name, figure.learning, name, train, valid) for name in names]


def _attention(runs: Mapping[str, Sequence[Path]]) -> list[Figure]:
    return [still for name, own in runs.items() if (still := _still(name, own))]


def _still(variant: str, runs: Sequence[Path]) -> Figure | None:
    """The first head of the last attention to the source, of the first seed and sentence."""
    try:
        kept = ((run, sentences[0]) for run in runs if (sentences := attention(run)))
        first = next(kept, None)
    except UserError as error:
        return Figure(title=variant, chart=None, problem=first_line(error))
    if first is None:
        return None
    run, sentence = first
    layers = sentence.layers
    to_source = [layer for layer in layers if layer.columns == "source" != layer.rows]
    layer = (to_source or layers)[-1]
    title = f"{variant}, {run.name}: {layer.name}, head 1 of {layer.shape[0]}"
    return _drawn(title, figure.attention, title, head_picture(sentence, layer, 0))


def _minus(text: str) -> str:
    """Replace hyphens before numbers by minus signs, which are as long as a plus."""
    return text.replace("-", "−")
