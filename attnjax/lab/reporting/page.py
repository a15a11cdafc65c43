"""The report of an experiment: a single HTML file, for screen and paper.

The page is the template report.html.jinja over a `Summary`, and over the learning curves, the
attention and the answers of the runs. A section without content is left out; in the place of a
figure that cannot be drawn stands the reason. What needs no script is drawn without: the script
puts figures that a reader works in into the place of still ones.
"""

import statistics
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from attnjax.config.serialize import json_text
from attnjax.errors import UserError, first_line
from attnjax.files import write_atomically
from attnjax.lab.reporting import drawing, embedded, evidence, figure
from attnjax.lab.reporting.evidence import count
from attnjax.lab.reporting.number import MISSING, measured, number
from attnjax.lab.reporting.runs import attention, curve, folders, head_picture, losses
from attnjax.lab.reporting.series import Panel, by_length, mechanism
from attnjax.lab.reporting.table import COSTS
from attnjax.lab.results.summary import Row, Summary

FILE = "report.html"
SCRIPTS = ("report.js", "attention.js", "curves.js", "answers.js")
RELOAD = 30
NOT_DRAWN = Markup('<p class="caption">This figure could not be drawn: {}</p>')

type Figures = list[tuple[str, Markup]]
"""Titles and figures, or the reasons that stand in their places."""


@drawing.in_one_process()
def write(
    folder: Path, summary: Summary, sentences: int | None = None, *, unfinished: bool = False
) -> Path:
    """Write the report of the experiment with its runs in `folder`; return the report's path.

    For `sentences` see `embedded.attentions`. A page that is `unfinished` loads itself again every
    RELOAD seconds, and says when it was written: nothing tells it that a training was killed.
    """
    runs = {row.variant: folders(row) for row in summary.rows}
    # of crossed variants there are too many for figures of each
    crossed = summary.crossing is not None
    single = {} if crossed else runs
    data, runtime = ({}, Markup()) if crossed else _embedded(folder, runs, sentences)
    content = render(
        "report.html.jinja",
        summary=summary,
        reload=RELOAD if unfinished else 0,
        written=time.strftime("%Y-%m-%d %H:%M %Z"),
        say=evidence,
        number=number,
        measured=measured,
        question=summary.title.partition("  ")[0],
        whose=summary.title.partition("  ")[2].strip(),
        note=_prose(summary.note),
        forest=partial(_drawn, figure.forest),
        crossing=_drawn(figure.crossing, summary),
        costs=COSTS,
        spent={row.variant: costs(row, runs[row.variant]) for row in summary.rows},
        seeds=[] if crossed else _seeds(summary),
        by_length=_panels(by_length(summary)),
        mechanism=_panels(mechanism(summary)),
        learning=_learning(single),
        attention=_attention(single),
        decoded=_decoded(data.get("attention", {})),
        data=data,
        runtime=runtime,
        script=text(*SCRIPTS),
    )
    path = folder / FILE
    write_atomically(path, content)
    return path


def render(template: str, **values: Any) -> str:
    """Render a template beside this file with its values, and the style of all pages."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(["html.jinja"]),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"minus": _minus}
    environment.policies["json.dumps_function"] = json_text
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment.get_template(template).render(style=text("style.css"), **values)


def text(*names: str) -> Markup:
    """Return the content of files beside this one."""
    here = Path(__file__).parent
    return Markup("\n".join((here / name).read_text(encoding="utf-8") for name in names))


def _embedded(
    folder: Path, runs: Mapping[str, Sequence[Path]], sentences: int | None
) -> tuple[dict[str, Any], Markup]:
    """Return the script's data, and the program that draws curves; what is damaged is left out."""
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
    """Return the runs of each variant, and those that are still being trained."""
    logged = {name: [*own] for name, own in runs.items()}
    for path in sorted(folder.glob("*/seed-*/metrics.jsonl")):
        own = logged.setdefault(path.parents[1].name, [])
        if path.parent not in own:
            own.append(path.parent)
    return logged


def _prose(note: str) -> list[tuple[str, str]]:
    """Return the note's blocks: ("p", paragraph), or ("pre", code) for one that is indented."""
    blocks = textwrap.dedent(note).strip("\n").split("\n\n")
    return [
        ("pre", textwrap.dedent(block).strip("\n")) if block.startswith("    ") else ("p", block)
        for block in blocks
        if block.strip()
    ]


def _drawn(draw: Callable[..., Markup | None], *values: Any) -> Markup:
    """Draw a figure, "" if there is nothing to draw; an error must not lose the report."""
    try:
        return draw(*values) or Markup()
    except Exception as error:
        return NOT_DRAWN.format(f"{type(error).__name__}: {first_line(error)}")


def costs(row: Row, runs: Sequence[Path]) -> dict[str, str]:
    """Return the costs of a variant, in words, by the headings of their columns."""
    cost, logs = row.cost, [curve(run) for run in runs]
    sizes = dict(cost.examples) if cost else {}
    speeds, memory = _values(logs, "tokens per second"), _values(logs, "memory")
    return {
        "parameters": count(row.parameters),
        "examples train / valid / test": " / ".join(
            count(sizes.get(split)) for split in ("train", "valid", "test")
        ),
        "largest batch B × S × T": " × ".join(map(str, cost.shape)) if cost else MISSING,
        "tokens a step": count(cost.tokens or None) if cost else MISSING,
        "FLOPs a step": number(cost.flops, 3) if cost else MISSING,
        "steps": count(cost.steps) if cost else MISSING,
        "seconds a seed": count(row.seconds / len(row.seeds)),
        "tokens/s a seed": count(statistics.median(speeds) if speeds else None),
        "peak memory": f"{max(memory) / 2**20:,.0f} MiB" if memory else MISSING,
    }


def _values(logs: Sequence[Mapping[str, Sequence[tuple[int, float]]]], name: str) -> list[float]:
    return [
        value
        for log in logs
        for of, points in log.items()
        if of.startswith("train ") and of.endswith(name)
        for _, value in points
    ]


def _seeds(summary: Summary) -> Figures:
    figures = []
    for key in summary.keys(judged=True):
        columns = ((row.variant, row.column(key)) for row in summary.rows)
        values = {variant: column.values for variant, column in columns if column}
        if drawn := _drawn(figure.seeds, str(key), values):
            figures.append((evidence.heading(summary, key), drawn))
    return figures


def _panels(panels: Sequence[Panel]) -> Figures:
    return [(panel.title, _drawn(figure.lines, panel)) for panel in panels]


def _learning(runs: Mapping[str, Sequence[Path]]) -> Figures:
    train = {name: points for name, own in runs.items() if (points := losses(own, "train"))}
    valid = {name: points for name, own in runs.items() if (points := losses(own, "valid"))}
    names = [name for name in runs if name in train or name in valid]
    return [(name, _drawn(figure.learning, name, train, valid)) for name in names]


def _attention(runs: Mapping[str, Sequence[Path]]) -> Figures:
    """Draw the first head of the last attention to the source, of the first seed and sentence."""
    figures = []
    for variant, own in runs.items():
        try:
            kept = ((run, sentences[0]) for run in own if (sentences := attention(run)))
            for run, sentence in islice(kept, 1):
                layers = sentence.layers
                to_source = [layer for layer in layers if layer.columns == "source" != layer.rows]
                layer = (to_source or layers)[-1]
                title = f"{variant}, {run.name}: {layer.name}, head 1 of {layer.shape[0]}"
                picture = head_picture(sentence, layer, 0)
                figures.append((title, _drawn(figure.attention, title, picture)))
        except UserError as error:
            figures.append((variant, NOT_DRAWN.format(first_line(error))))
    return figures


def _decoded(attention: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]) -> bool:
    """Return whether some sentence of the script's data is one that a decoder is given."""
    kept = [sentence for seeds in attention.values() for own in seeds.values() for sentence in own]
    return any(sentence["decoded"] for sentence in kept)


def _minus(text: str) -> str:
    """Replace hyphens before numbers by minus signs, which are as long as a plus."""
    return text.replace("-", "−")
