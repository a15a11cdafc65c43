"""The figures of the page: Vega-Lite specifications, filled with numbers and drawn as inline SVG.

A specification is a file of figures/ in which "$name" stands for a value. Every color is
`currentColor` or a variable of style.css, so that a figure follows the page into dark mode and onto
paper. Text stays text; names of variants and tokens are only data, never part of an expression.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from attnjax.evaluation.measures.base import Picture
from attnjax.lab.reporting import drawing, evidence
from attnjax.lab.reporting.crossings import cells, marked
from attnjax.lab.reporting.runs import CurvePoint, visible
from attnjax.lab.reporting.series import Panel, finite
from attnjax.lab.results.summary import ClaimRow, Summary

_FIGURES = Path(__file__).parent / "figures"


def draw(figure: str, label: str, **values: Any) -> Markup:
    """Draw a figure of figures/ with its values, as an SVG element of the page."""
    return svg(_specification(figure, **values) | {"config": _specification("config")}, label)


def svg(chart: dict[str, Any], label: str) -> Markup:
    """Draw a chart as an SVG element of the page; HTML needs no namespace."""
    text = drawing.svg(chart)
    size = re.search(r'width="[^"]*" height="[^"]*" viewBox="[^"]*"', text)
    if size is None:
        raise ValueError(
            f"the drawing must be an SVG with width, height and viewBox; got {text[:200]}"
        )
    body = text[text.index(">") + 1 :]
    # Vega has escaped all text
    return Markup(f'<svg role="img" aria-label="{escape(label)}" {size.group()}>{body}')


def forest(claim: ClaimRow) -> Markup | None:
    """Draw a claim: its interval as a bar, each seed as a dot, its region as a band.

    None: there is no number, or a single seed, which has no interval.
    """
    if not math.isfinite(claim.estimate) or evidence.ends(claim) == "no interval":
        return None
    values = finite([value for _, value in claim.seeds])
    ends = finite([claim.low, claim.high, *claim.region, claim.estimate, *values])
    # a difference of 0 means that there is none
    if claim.difference:
        ends.append(0.0)
    margin = 0.15 * (max(ends) - min(ends)) or 1.0
    least, greatest = min(ends) - margin, max(ends) + margin
    bounds = np.clip((*claim.region, claim.low, claim.high), least, greatest).tolist()
    interval = dict(zip(("left", "right", "low", "high"), bounds, strict=True))
    return draw(
        "forest",
        f"Interval of: {claim.text}",
        title=evidence.quantity(claim),
        interval=interval | {"estimate": claim.estimate},
        domain=[least, greatest],
        seeds=[{"value": value} for value in values],
    )


def seeds(metric: str, values: Mapping[str, Sequence[float | None]]) -> Markup | None:
    """Draw a metric: for each variant dots for seeds and a stroke at the mean.

    None: no variant has two seeds with a value.
    """
    columns = {variant: finite(column) for variant, column in values.items()}
    if max(map(len, columns.values()), default=0) < 2:
        return None
    return dots(metric, columns)


def dots(metric: str, columns: Mapping[str, Sequence[float]]) -> Markup:
    """Draw the finite values of a metric: a dot each, and a stroke at each variant's mean."""
    points = [{"variant": name, "value": v} for name, column in columns.items() for v in column]
    every = [point["value"] for point in points]
    scale = {"type": _kind(every, ratio=100), "zero": False, "nice": False, "padding": 8}
    scale, axis = _fitted(every, scale, {"tickCount": 4})
    return draw(
        "seeds",
        f"{metric} by variant and seed",
        title=metric,
        points=points,
        means=[{"variant": k, "value": sum(v) / len(v)} for k, v in columns.items() if v],
        variants=list(columns),
        scale=scale,
        axis=axis,
    )


def learning(
    variant: str,
    train: Mapping[str, Sequence[CurvePoint]],
    valid: Mapping[str, Sequence[CurvePoint]],
) -> Markup:
    """Draw a variant's training and validation loss over seeds; the others' training loss faint.

    The line is the mean over the seeds, the band reaches from the least to the greatest. All
    variants have the same axes.
    """
    points = [point for curves in (train, valid) for curve in curves.values() for point in curve]
    every = [loss for point in points for loss in (point.low, point.high)]
    kind = _kind(every, ratio=10)
    scale = {"type": kind, "domain": [min(every), max(every)], "nice": kind == "linear"}
    scale, axis = _fitted(every, {"zero": False, **scale}, {"tickCount": 4})
    others = [
        {"variant": name} | point._asdict()
        for name, curve in train.items()
        if name != variant
        for point in curve
    ]
    return draw(
        "learning",
        f"Training and validation loss of {variant}",
        end=max(point.step for point in points),
        scale=scale,
        axis=axis,
        others=others,
        train=_curve(train.get(variant, ()), "var(--accent)"),
        valid=_curve(valid.get(variant, ()), "var(--second)"),
    )


def crossing(summary: Summary) -> Markup | None:
    """Draw the means of crossed variants, rows down and columns across; None: there are none.

    A cell is the darker the more is right; rows that are one's own are outlined.
    """
    values = crossing_values(summary)
    return None if values is None else crossed(values)


def crossed(values: Mapping[str, Any]) -> Markup:
    """Draw what `crossing_values` returns."""
    return draw("crossing", "Share of right answers, rows by columns", **values)


def crossing_values(summary: Summary) -> dict[str, Any] | None:
    """Return what the figure "crossing" is filled with; None: there is nothing to draw."""
    found = cells(summary)
    if summary.crossing is None or not found:
        return None
    entered, places, shown = summary.crossing.entered, list[str](), list[dict[str, Any]]()
    for column, metrics in summary.crossing.columns.items():
        places += [column, *(f"{column}, longer" for _ in metrics[1:])]
    for cell in found:
        names = (cell.column, *(f"{cell.column}, longer" for _ in cell.values[1:]))
        for place, mean in zip(names, cell.means, strict=True):
            if mean is not None and math.isfinite(mean):
                where = {"row": marked(cell.row, entered), "place": place}
                best = "*" if cell.best and place == names[-1] else ""
                shown.append(where | {"shade": 0.7 * mean, "label": f"{100 * mean:.0f}{best}"})
    own = {marked(name, entered) for name in entered}
    names = dict.fromkeys(cell["row"] for cell in shown)
    own_cells = [cell for cell in shown if cell["row"] in own]
    return {"places": places, "rows": [*names], "cells": shown, "entered": own_cells}


def attention(variant: str, picture: Picture) -> Markup:
    """Draw the attention of a sentence: source across, target down, gold cells outlined."""
    source, target = ([*map(visible, side)] for side in (picture.source, picture.target))
    cells = [
        {"x": x, "y": y, "weight": min(1.0, weight)}
        for y, row in enumerate(picture.weights[: len(target)])
        for x, weight in enumerate(row[: len(source)])
        if math.isfinite(weight) and weight > 0.01
    ]
    gold = [
        {"x": x, "y": y}
        for y, row in enumerate(picture.gold)
        for x in row
        if y < len(target) and x < len(source)
    ]
    upright = {"align": "center", "baseline": "bottom"}
    turned = {"angle": 270, "align": "left", "baseline": "middle"}
    short = all(len(token) <= 2 for token in source)
    # labels are marks, because tokens may repeat
    return draw(
        "attention",
        f"Attention of {variant}",
        across={"domain": [*range(len(source))], "padding": 0},
        down={"domain": [*range(len(target))], "padding": 0},
        cells=cells,
        gold=gold,
        above={"type": "text"} | (upright if short else turned),
        source=[{"x": x, "label": token} for x, token in enumerate(source)],
        target=[{"y": y, "label": token} for y, token in enumerate(target)],
    )


def interactive(figure: str) -> dict[str, Any]:
    """Return the specification of a figure that the page's script draws."""
    return _specification(figure) | {"config": _specification("config")}


def lines(panel: Panel) -> Markup:
    """Draw a panel: a line through the means, a dot for each seed, the claimed slope dotted."""
    points, means, claimed = [], [], []
    for line in panel.series:
        means += [{"series": line.name, "place": x, "value": v} for x, v in line.means]
        for place, column in zip(line.places, line.values, strict=True):
            points += [{"series": line.name, "place": place, "value": v} for v in column]
        if line.slope is not None:
            (first, start), (last, _) = line.means[0], line.means[-1]
            ends = [(first, start), (last, start * (last / first) ** line.slope)]
            claimed += [{"series": line.name, "place": x, "value": v} for x, v in ends]
    every = [point["value"] for point in points]
    if panel.logarithmic:
        across, up = {"type": "log", "base": 2, "nice": False}, {"type": "log", "nice": False}
        places = {"values": sorted({point["place"] for point in means}), "format": "~g"}
        values = {"values": _ticks(every), "format": ",~r"}
    else:
        across, places = {"nice": False, "padding": 8}, {"tickCount": 5}
        up, values = _fitted(every, {}, {"tickCount": 5})
    return draw(
        "lines",
        f"{panel.title} by {panel.axis}",
        title=panel.axis,
        value=panel.title,
        across={"zero": False} | across,
        up={"zero": False, "padding": 8} | up,
        places={"grid": False} | places,
        values=values,
        names=[line.name for line in panel.series],
        colors=[line.color for line in panel.series],
        dashes=[line.dashes for line in panel.series],
        means=means,
        points=points,
        claimed=claimed,
    )


def _specification(figure: str, **values: Any) -> dict[str, Any]:
    """Read a specification of figures/ and fill in its values."""

    def filled(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: filled(value) for key, value in item.items()}
        if isinstance(item, list):
            return [filled(value) for value in item]
        return values[item[1:]] if isinstance(item, str) and item.startswith("$") else item

    return filled(json.loads((_FIGURES / f"{figure}.json").read_text(encoding="utf-8")))


def _curve(points: Sequence[CurvePoint], color: str) -> dict[str, Any]:
    """Specify the mean of a curve and its band; a curve of few points has dots, too."""
    values = [point._asdict() for point in points]
    return _specification("curve", points=values, color=color, dots=int(len(points) < 10))


def _fitted(
    values: Sequence[float], scale: dict[str, Any], axis: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fit scale and axis around the value if all are equal: Vega would label it 0."""
    value = values[0]
    if any(other != value for other in values):
        return scale, axis
    margin = 0.1 * abs(value) or 1.0
    domain = [value - margin, value + margin]
    return (
        {**scale, "domain": domain, "nice": False},
        {**axis, "values": [value], "format": ".4~g"},
    )


def _ticks(values: Sequence[float]) -> list[float]:
    """Choose ticks of a logarithmic axis: powers of ten, or 1, 2 and 5 times them if near."""
    low, high = math.log10(min(values)), math.log10(max(values))
    factors = (1, 2, 5) if high - low < 2 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    return [factor * 10.0**power for power in powers for factor in factors]


def _kind(values: Sequence[float], *, ratio: float) -> str:
    """Choose a logarithmic scale if all values are positive and their ratio exceeds `ratio`."""
    return "log" if min(values) > 0 and max(values) / min(values) > ratio else "linear"
