"""An experiment's report: one file that needs nothing else, in the light, in the dark, on paper.

The summary of an experiment, `summary.json` in its folder, is

    {"experiment": name, "title": the file's first line, "note": the rest of its docstring,
     "metrics": [metric, ...], "better": {metric: "higher" | "lower"},
     "rows": [{"variant", "n", "mean": {metric: x}, "standard_deviation": {metric: x},
               "seconds", "parameters", "values": {metric: [x a seed]},
               "runs": [a run's folder, relative to the experiment's, a seed]}],
     "claims": [{"text", "quantity": {"kind": "difference" | "value" | "slope" |
                     "sentence_difference" | "length_gain", "metric", ...},
                 "estimate", "low", "high", "region": [low, high], "verdict"}],
     "unjudged": [{"text", "missing": [variant that was not run, or metric that none has]}],
     "published": [{"paper", "table", "variant", "metric", "value", "source"}],
     "device": text, "versions": {package: version}, "command": text, "date": text}

An end of a region that is null is unbounded, and so is null for `low` and `high` (one seed). A
metric that a variant was not measured by is absent from its row or null. `better` names the
metrics that say how good a variant is; the others describe it. A slope's quantity has
"over": [[variant, width], ...], a difference's "better" and "worse"; its "interval" is "sentences"
where it is not over seeds. "runs" may be absent: then <variant>/*/ is looked through; "command" and
"date" may be too.

A run's folder has metrics.jsonl (rows of step, epoch, split, loss, ...); attention.json, a list
of {"source": [token], "target": [token], "weights": [[T rows of S]], "gold": [[position], ...]};
and sentences.json, of which the lengths of the sources are read (see `evaluation.sentences`). What
is missing leaves out its section.
"""

import datetime
import math
import shlex
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from attnjax.reporting import figure
from attnjax.reporting.html import Markup, element, join
from attnjax.reporting.lengths import lines
from attnjax.reporting.mechanism import panels
from attnjax.reporting.number import measured, number, words
from attnjax.reporting.published import compare, deviation
from attnjax.reporting.runs import curve, folders, picture
from attnjax.reporting.table import (
    COSTS,
    MARKS,
    count,
    evidence,
    heading,
    measured_rows,
    metric_groups,
    unjudged,
)

FILE = "report.html"


def write(folder: Path, summary: dict[str, Any]) -> Path:
    """Writes the report of the experiment whose runs are under `folder`, and returns its path."""
    runs = {row["variant"]: folders(folder, row) for row in summary["rows"]}
    body = element(
        "body",
        _header(summary),
        _section("Verdicts", *_verdicts(summary)),
        _section("Results", *_results(summary)),
        _section("By source length", *_by_length(summary, runs)),
        _section("The mechanism", *_mechanism(summary)),
        _section("Learning curves", *_learning(runs)),
        _section("Attention", *_attention(runs)),
        _section("Published beside ours", *_published(summary)),
        _section("Run it again", *_again(summary)),
    )
    style = Markup(Path(__file__).with_name("style.css").read_text(encoding="utf-8"))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", summary["title"]),
        element("style", style),
    )
    path = folder / FILE
    path.write_text(f"<!doctype html>\n{element('html', head, body, lang='en')}\n", "utf-8")
    return path


def _section(title: str, *content: Markup) -> Markup | None:
    return element("section", element("h2", title), *content) if content else None


def _header(summary: dict[str, Any]) -> Markup:
    # An experiment's first line is its question, two blanks, and whose question it was.
    question, _, source = summary["title"].partition("  ")
    title = element("h1", question)
    whose = element("p", source.strip(), class_="source") if source else None
    return element("header", title, whose, *_prose(summary.get("note") or ""))


def _prose(note: str) -> list[Markup]:
    """Paragraphs; a block that is indented is code."""
    blocks = textwrap.dedent(note).strip("\n").split("\n\n")
    return [
        element("pre", textwrap.dedent(block).strip("\n"))
        if block.startswith("    ")
        else element("p", block)
        for block in blocks
        if block.strip()
    ]


def _verdicts(summary: dict[str, Any]) -> list[Markup]:
    items = []
    for claim in summary.get("claims") or ():
        verdict = claim["verdict"]
        badge = f"{MARKS.get(verdict, '')} {verdict}".strip()
        items.append(
            element(
                "li",
                element("p", badge, class_=f"verdict {verdict.replace(' ', '-')}"),
                element(
                    "div",
                    element("p", claim["text"]),
                    element("p", _minus(evidence(claim)), class_="caption"),
                ),
                element("div", figure.forest(claim)),
            )
        )
    left = unjudged(summary)
    rest = [element("p", left, class_="caption")] if left else []
    if not items:
        return rest
    rule = (
        "Bar: the 95 % interval, over seeds where nothing else is said. Band: what the claim "
        "allows. The bar inside the band is “reproduced”, clear of it “not reproduced”, anything "
        "else “undecided”."
    )
    return [element("ul", *items, class_="verdicts"), element("p", rule, class_="caption"), *rest]


def _results(summary: dict[str, Any]) -> list[Markup]:
    judged, observed = metric_groups(summary)
    tables = [_result_table(summary, judged, COSTS)]
    if observed:
        tables.append(_result_table(summary, observed, ()))
    caption = "Mean ± standard deviation over n seeds; bold: the best mean."
    charts = []
    for metric in judged:
        rows = measured_rows(summary, [metric])
        columns = {row["variant"]: row.get("values", {}).get(metric, ()) for row in rows}
        chart = figure.seeds(words(metric), columns)
        if chart is not None:
            charts.append(_figure(heading(summary, metric), chart))
    if charts:
        caption += " Below, a dot a seed and a stroke at the mean."
    grid = element("div", *charts, class_="grid") if charts else None
    return [join(*tables, element("p", caption, class_="caption"), grid)]


def _result_table(summary: dict[str, Any], metrics: Sequence[str], costs: Sequence[str]) -> Markup:
    names = ["variant", *(heading(summary, metric) for metric in metrics), *costs]
    best = {metric: _best(summary, metric) for metric in metrics}
    rows = []
    for row in measured_rows(summary, metrics):
        cells = [element("th", row["variant"], class_="text", scope="row")]
        for metric in metrics:
            mean = row["mean"].get(metric)
            shown = _minus(measured(mean, deviation(row, metric)))
            bold = mean is not None and mean == best[metric]
            cells.append(element("td", shown, class_="best") if bold else element("td", shown))
        cells += [element("td", count(row.get(name))) for name in costs]
        rows.append(element("tr", *cells))
    return _table(names, rows)


def _best(summary: dict[str, Any], metric: str) -> float | None:
    direction = (summary.get("better") or {}).get(metric)
    means = [row["mean"].get(metric) for row in summary["rows"]]
    finite = [mean for mean in means if mean is not None and math.isfinite(mean)]
    if direction is None or len(means) < 2 or not finite:
        return None
    return max(finite) if direction == "higher" else min(finite)


def _by_length(summary: dict[str, Any], runs: dict[str, list[Path]]) -> list[Markup]:
    charts = [
        _figure(title, figure.by_length(title, drawn))
        for title, drawn in lines(summary, runs).items()
    ]
    caption = (
        "The test split in parts by the length of the source, each scored as a corpus and drawn at "
        "its mean length; a dot a seed, the line through the means."
    )
    return _grid(caption, charts)


def _mechanism(summary: dict[str, Any]) -> list[Markup]:
    charts = [
        _figure(title, figure.mechanism(title, lines)) for title, lines in panels(summary).items()
    ]
    caption = "By key width, both axes logarithmic; a dot a seed, dotted the slope that is claimed."
    return _grid(caption, charts)


def _learning(runs: dict[str, list[Path]]) -> list[Markup]:
    curves = {name: points for name, own in runs.items() if (points := curve(own))}
    charts = [_figure(name, figure.learning(name, curves)) for name in curves]
    caption = (
        "Validation loss by step: the mean over seeds and one standard deviation about it; "
        "faint, the other variants."
    )
    return _grid(caption, charts)


def _attention(runs: dict[str, list[Path]]) -> list[Markup]:
    pictures = {name: found for name, own in runs.items() if (found := picture(own))}
    charts = [_figure(name, figure.attention(name, found)) for name, found in pictures.items()]
    caption = (
        "The weights of one sentence of the first seed: the darker, the more; outlined, where the "
        "target really comes from. ␣ is a blank, ∎ the end, ▫ a character without a shape."
    )
    return _grid(caption, charts, class_="pictures")


def _published(summary: dict[str, Any]) -> list[Markup]:
    names = ["paper", "variant", "metric", "theirs", "ours", "difference"]
    compared = compare(summary)
    sources = any(ours.source for ours in compared)
    if sources:
        names.append("published as")
    rows = [
        element(
            "tr",
            element("th", f"{ours.paper}, {ours.table}", class_="text", scope="row"),
            element("td", ours.variant, class_="text"),
            element("td", words(ours.metric), class_="text"),
            element("td", _minus(f"{ours.value:.10g}")),
            element("td", _minus(measured(ours.ours, ours.deviation))),
            element("td", _minus(number(ours.difference, 3))),
            element("td", ours.source, class_="text long") if sources else None,
        )
        for ours in compared
    ]
    return [_table(names, rows, text={"variant", "metric", "published as"})] if rows else []


def _again(summary: dict[str, Any]) -> list[Markup]:
    command = summary.get("command") or f"attnjax run {shlex.quote(summary['experiment'])}"
    date = summary.get("date") or datetime.date.today().isoformat()
    versions = ", ".join(f"{k} {v}" for k, v in (summary.get("versions") or {}).items())
    made = "; ".join(part for part in (summary.get("device"), versions, date) if part)
    return [element("pre", command), element("p", made, class_="caption")]


def _figure(title: str, chart: Markup) -> Markup:
    return element("figure", element("h3", title), chart)


def _grid(caption: str, charts: Sequence[Markup], class_: str = "grid") -> list[Markup]:
    if not charts:
        return []
    return [element("p", caption, class_="caption"), element("div", *charts, class_=class_)]


def _table(names: Sequence[str], rows: Iterable[Markup], text: Iterable[str] = ()) -> Markup:
    cells = [
        element("th", name, scope="col", **({"class_": "text"} if name in text else {}))
        for name in names
    ]
    head = element("thead", element("tr", *cells))
    drawn = element("table", head, element("tbody", *rows))
    return element("div", drawn, class_="scroll", tabindex="0")


def _minus(text: str) -> str:
    """A minus as long as a plus; in the terminal a hyphen, which can be copied, is better."""
    return text.replace("-", "−")
