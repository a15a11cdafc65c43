"""Figures as inline SVG, from Vega-Lite specifications: text stays text, colours are the page's.

Every colour is `currentColor` or a variable of style.css, so that a figure follows the page into
the dark and onto paper. Fields have fixed names; the names of variants are only ever data.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import vl_convert

from attnjax.reporting.html import Markup
from attnjax.reporting.mechanism import Series
from attnjax.reporting.runs import Point, visible

_INK, _FAINT = "currentColor", "var(--faint)"
_ACCENT, _SECOND, _THIRD = "var(--accent)", "var(--second)", "var(--third)"
_CELL = 13

_CONFIG = {
    "aria": False,
    "background": "transparent",
    "font": "inherit",
    "padding": 2,
    "view": {"stroke": None},
    "axis": {
        "labelColor": _INK,
        "titleColor": _INK,
        "domainColor": _FAINT,
        "tickColor": _FAINT,
        "gridColor": _FAINT,
        "gridOpacity": 0.5,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelOverlap": False,
        "labelFlush": False,
    },
    "legend": {"labelColor": _INK, "labelFontSize": 11, "labelLimit": 260},
}


def forest(claim: Mapping[str, Any]) -> Markup | None:
    """The interval over seeds as a bar, against the claim's region as a band.

    None where there is nothing to draw: no finite estimate.
    """
    estimate, region = claim["estimate"], claim["region"]
    if estimate is None or not math.isfinite(estimate):
        return None
    ends = [claim["low"], claim["high"], *region, estimate]
    finite = [end for end in ends if end is not None and math.isfinite(end)]
    if (claim.get("quantity") or {}).get("kind") == "difference":
        finite.append(0.0)
    margin = 0.15 * (max(finite) - min(finite)) or 1.0
    domain = [min(finite) - margin, max(finite) + margin]
    low, high = _within(domain, claim["low"], claim["high"])
    left, right = _within(domain, *region)
    x = _quantity("left", {"domain": domain, "nice": False}, {"tickCount": 5, "grid": False})
    band = {"type": "rect", "color": _ACCENT, "opacity": 0.2}
    bar = {"type": "rule", "color": _INK, "strokeWidth": 2}
    point = {"type": "point", "color": _INK, "filled": True, "size": 70, "opacity": 1}
    record = {"left": left, "right": right, "low": low, "high": high, "estimate": estimate}
    chart = {
        "width": 270,
        "height": 28,
        # As wide as the others with its labels, so that the intervals stand in a column.
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": [record]},
        "layer": [
            {"mark": band, "encoding": {"x": x, "x2": {"field": "right"}}},
            {"mark": bar, "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}}},
            {"mark": point, "encoding": {"x": x | {"field": "estimate"}}},
        ],
    }
    return _svg(chart, f"Interval of: {claim['text']}")


def seeds(metric: str, values: Mapping[str, Sequence[float | None]]) -> Markup | None:
    """A dot a seed and a stroke at the mean, a line a variant. None without a finite value."""
    finite = {
        variant: [v for v in column if v is not None and math.isfinite(v)]
        for variant, column in values.items()
    }
    points = [{"variant": name, "value": v} for name, column in finite.items() for v in column]
    means = [{"variant": k, "value": sum(v) / len(v)} for k, v in finite.items() if v]
    if not points:
        return None
    kind = _kind([point["value"] for point in points], ratio=100)
    scale = {"type": kind, "zero": False, "nice": False, "padding": 8}
    places = {
        "x": _quantity("value", scale, {"tickCount": 4}),
        "y": {
            "field": "variant",
            "type": "nominal",
            "sort": list(values),
            "title": None,
            "axis": {"grid": True, "ticks": False, "domain": False, "labelLimit": 150},
        },
    }
    dot = {"type": "circle", "color": _ACCENT, "size": 45, "opacity": 0.6}
    stroke = {"type": "tick", "color": _INK, "thickness": 2, "size": 15}
    layers = [_layer(points, dot, places), _layer(means, stroke, places)]
    chart = {"width": 200, "height": {"step": 20}, "layer": layers}
    return _svg(chart, f"{metric} by variant and seed")


def learning(variant: str, curves: Mapping[str, Sequence[Point]]) -> Markup:
    """One variant's validation loss with a band of one standard deviation, the others faint.

    Small multiples on the same axes, because more than a few colours cannot be told apart.
    """
    points = [point for curve in curves.values() for point in curve]
    least, most = min(point.mean for point in points), max(point.mean for point in points)
    kind = _kind([least, most], ratio=10)
    end = max(point.step for point in points)
    x = _quantity("step", {"domain": [0, end]}, {"tickCount": 4, "grid": False})
    loss_scale = {"type": kind, "domain": [least, most], "nice": kind == "linear"}
    y = _quantity("mean", loss_scale, {"tickCount": 4})
    others = [
        {"variant": name, "step": point.step, "mean": point.mean}
        for name, curve in curves.items()
        if name != variant
        for point in curve
    ]
    own = [
        {
            "step": point.step,
            "mean": point.mean,
            # A logarithm has no place for a band below zero, nor the axis for one off its end.
            "low": max(point.mean - point.deviation, least),
            "high": min(point.mean + point.deviation, most),
        }
        for point in curves[variant]
    ]
    apart = {"x": x, "y": y, "detail": {"field": "variant", "type": "nominal"}}
    spread = {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}}
    layers = [
        _layer(others, {"type": "line", "color": _FAINT, "strokeWidth": 1}, apart),
        _layer(own, {"type": "area", "color": _ACCENT, "opacity": 0.25}, spread),
        _layer(own, {"type": "line", "color": _ACCENT, "strokeWidth": 2}, {"x": x, "y": y}),
    ]
    chart = {"width": 280, "height": 150, "layer": layers}
    return _svg(chart, f"Validation loss of {variant}")


def attention(variant: str, picture: Mapping[str, Any]) -> Markup:
    """The weights of one sentence: source across, target down, gold cells outlined."""
    source, target = ([visible(token) for token in picture[side]] for side in ("source", "target"))
    cells = [
        {"x": x, "y": y, "weight": min(1.0, weight)}
        for y, row in enumerate(picture["weights"][: len(target)])
        for x, weight in enumerate(row[: len(source)])
        if weight is not None and math.isfinite(weight) and weight > 0.01
    ]
    gold = [
        {"x": x, "y": y}
        for y, row in enumerate(picture.get("gold") or [])
        for x in row
        if y < len(target) and x < len(source)
    ]
    short = all(len(token) <= 2 for token in source)
    across = {"orient": "top", "labelAngle": 0 if short else -90}
    places = {"x": _tokens("x", "source", source, across), "y": _tokens("y", "target", target, {})}
    weight = {"field": "weight", "type": "quantitative", "scale": None, "legend": None}
    outline = {"type": "rect", "filled": False, "stroke": _SECOND, "strokeWidth": 1.5}
    layers = [
        _layer(cells, {"type": "rect", "color": _ACCENT}, places | {"opacity": weight}),
        _layer(gold, outline, places),
    ]
    step = {"step": _CELL}
    chart = {"width": step, "height": step, "view": {"stroke": _FAINT}, "layer": layers}
    return _svg(chart, f"Attention of {variant}")


def mechanism(title: str, series: Sequence[Series]) -> Markup:
    """Values by key width on log-log axes, a dot a seed, the claimed slope as a dotted line."""
    points, lines, claimed = [], [], []
    for one in series:
        lines += [{"series": one.name, "width": w, "value": v} for w, v in one.means]
        for width, column in zip(one.widths, one.values, strict=True):
            points += [{"series": one.name, "width": width, "value": v} for v in column]
        if one.slope is not None:
            (first, start), (last, _) = one.means[0], one.means[-1]
            ends = [(first, start), (last, start * (last / first) ** one.slope)]
            claimed += [{"series": one.name, "width": w, "value": v} for w, v in ends]
    names = [one.name for one in series]
    colours = [(_ACCENT, _SECOND, _THIRD)[one.group % 3] for one in series]
    dashes = [[1, 0] if one.moment == 0 else [6, 3] for one in series]
    named = {
        "field": "series",
        "type": "nominal",
        "legend": {
            "title": None,
            "orient": "top",
            "direction": "vertical",
            "symbolType": "stroke",
            "symbolSize": 400,
            "symbolOpacity": 1,
            "symbolStrokeWidth": 2,
        },
    }
    widths = sorted({point["width"] for point in lines})
    ticks = _ticks([point["value"] for point in points])
    x_scale = {"type": "log", "base": 2, "nice": False}
    x_axis = {"values": widths, "format": "d", "grid": False}
    y_scale = {"type": "log", "nice": False, "padding": 8}
    places = {
        "x": _quantity("width", x_scale, x_axis) | {"title": "key width"},
        "y": _quantity("value", y_scale, {"values": ticks, "format": ",~r"}),
    }
    colour = {"color": named | {"scale": {"domain": names, "range": colours}}}
    dash = {"strokeDash": named | {"scale": {"domain": names, "range": dashes}}}
    apart = {"detail": {"field": "series", "type": "nominal"}}
    dotted = {"type": "line", "color": _INK, "strokeDash": [1, 4], "strokeWidth": 2}
    layers = [
        _layer(lines, {"type": "line", "strokeWidth": 2}, places | colour | dash),
        _layer(points, {"type": "circle", "size": 30, "opacity": 0.6}, places | colour),
        _layer(claimed, dotted, places | apart),
    ]
    chart = {"width": 270, "height": 200, "layer": layers}
    return _svg(chart, f"{title} by key width")


def _layer(
    values: list[dict[str, Any]], mark: dict[str, Any], encoding: dict[str, Any]
) -> dict[str, Any]:
    return {"data": {"values": values}, "mark": mark, "encoding": encoding}


def _quantity(field: str, scale: dict[str, Any], axis: dict[str, Any]) -> dict[str, Any]:
    """A numeric channel without a title."""
    place = {"field": field, "type": "quantitative", "title": None}
    return place | {"scale": {"zero": False} | scale, "axis": axis}


def _tokens(field: str, title: str, tokens: Sequence[str], axis: dict[str, Any]) -> dict[str, Any]:
    """A channel of positions, labelled by their tokens (a literal of Vega's is one of JSON's)."""
    labels = {"labelExpr": f"{json.dumps(list(tokens))}[datum.value]"}
    scale = {"domain": list(range(len(tokens))), "padding": 0}
    place = {"field": field, "type": "ordinal", "title": title}
    return place | {"scale": scale, "axis": axis | labels}


def _svg(chart: dict[str, Any], label: str) -> Markup:
    """The chart as an SVG element of the page, without a namespace, which HTML does not need."""
    text = vl_convert.vegalite_to_svg(chart | {"config": _CONFIG})
    size = re.search(r'width="[^"]*" height="[^"]*" viewBox="[^"]*"', text)
    if size is None:
        raise ValueError(f"an SVG with width, height and viewBox was wanted; got {text[:200]}")
    body = text[text.index(">") + 1 :]
    return Markup(f'<svg role="img" aria-label="{escape(label)}" {size.group()}>{body}')


def _ticks(values: Sequence[float]) -> list[float]:
    """Round values for a logarithmic axis: powers of ten, or 1, 2 and 5 times them if near."""
    low, high = math.log10(min(values)), math.log10(max(values))
    factors = (1, 2, 5) if high - low < 2 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    return [factor * 10.0**power for power in powers for factor in factors]


def _kind(values: Sequence[float], *, ratio: float) -> str:
    """Logarithmic where all values are positive and lie further apart than `ratio`."""
    return "log" if min(values) > 0 and max(values) / min(values) > ratio else "linear"


def _within(domain: Sequence[float], low: float | None, high: float | None) -> tuple[float, float]:
    """An interval cut to a domain; None is unbounded."""
    ends = zip((low, high), domain, strict=True)
    left, right = (end if value is None else value for value, end in ends)
    return max(left, domain[0]), min(right, domain[1])
