"""The figures of the page."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from attnjax.reporting.chart import (
    ACCENT,
    COLOURS,
    FAINT,
    INK,
    SECOND,
    layer,
    quantity,
    svg,
    told_apart,
)
from attnjax.reporting.html import Markup
from attnjax.reporting.lengths import Line
from attnjax.reporting.mechanism import Series
from attnjax.reporting.runs import Point, visible

_CELL = 13


def forest(claim: Mapping[str, Any]) -> Markup | None:
    """The interval as a bar, against the claim's region as a band.

    None where there is nothing to draw: no finite estimate.
    """
    estimate, region = claim["estimate"], claim["region"]
    if estimate is None or not math.isfinite(estimate):
        return None
    ends = [claim["low"], claim["high"], *region, estimate]
    finite = [end for end in ends if end is not None and math.isfinite(end)]
    # a quantity that names two sides is a difference: 0 says that there is none
    if "better" in (claim.get("quantity") or {}):
        finite.append(0.0)
    margin = 0.15 * (max(finite) - min(finite)) or 1.0
    domain = [min(finite) - margin, max(finite) + margin]
    low, high = _within(domain, claim["low"], claim["high"])
    left, right = _within(domain, *region)
    x = quantity("left", {"domain": domain, "nice": False}, {"tickCount": 5, "grid": False})
    band = {"type": "rect", "color": ACCENT, "opacity": 0.2}
    bar = {"type": "rule", "color": INK, "strokeWidth": 2}
    point = {"type": "point", "color": INK, "filled": True, "size": 70, "opacity": 1}
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
    return svg(chart, f"Interval of: {claim['text']}")


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
        "x": quantity("value", scale, {"tickCount": 4}),
        "y": {
            "field": "variant",
            "type": "nominal",
            "sort": list(values),
            "title": None,
            "axis": {"grid": True, "ticks": False, "domain": False, "labelLimit": 150},
        },
    }
    dot = {"type": "circle", "color": ACCENT, "size": 45, "opacity": 0.6}
    stroke = {"type": "tick", "color": INK, "thickness": 2, "size": 15}
    layers = [layer(points, dot, places), layer(means, stroke, places)]
    chart = {"width": 200, "height": {"step": 20}, "layer": layers}
    return svg(chart, f"{metric} by variant and seed")


def learning(variant: str, curves: Mapping[str, Sequence[Point]]) -> Markup:
    """One variant's validation loss with a band of one standard deviation, the others faint.

    Small multiples on the same axes, because more than a few colours cannot be told apart.
    """
    points = [point for curve in curves.values() for point in curve]
    least, most = min(point.mean for point in points), max(point.mean for point in points)
    kind = _kind([least, most], ratio=10)
    end = max(point.step for point in points)
    x = quantity("step", {"domain": [0, end]}, {"tickCount": 4, "grid": False})
    loss_scale = {"type": kind, "domain": [least, most], "nice": kind == "linear"}
    y = quantity("mean", loss_scale, {"tickCount": 4})
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
        layer(others, {"type": "line", "color": FAINT, "strokeWidth": 1}, apart),
        layer(own, {"type": "area", "color": ACCENT, "opacity": 0.25}, spread),
        layer(own, {"type": "line", "color": ACCENT, "strokeWidth": 2}, {"x": x, "y": y}),
    ]
    chart = {"width": 280, "height": 150, "layer": layers}
    return svg(chart, f"Validation loss of {variant}")


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
    outline = {"type": "rect", "filled": False, "stroke": SECOND, "strokeWidth": 1.5}
    layers = [
        layer(cells, {"type": "rect", "color": ACCENT}, places | {"opacity": weight}),
        layer(gold, outline, places),
    ]
    step = {"step": _CELL}
    chart = {"width": step, "height": step, "view": {"stroke": FAINT}, "layer": layers}
    return svg(chart, f"Attention of {variant}")


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
    colour, dash = told_apart(
        [one.name for one in series],
        [COLOURS[one.group % len(COLOURS)] for one in series],
        [[1, 0] if one.moment == 0 else [6, 3] for one in series],
    )
    widths = sorted({point["width"] for point in lines})
    ticks = _ticks([point["value"] for point in points])
    x_scale = {"type": "log", "base": 2, "nice": False}
    x_axis = {"values": widths, "format": "d", "grid": False}
    y_scale = {"type": "log", "nice": False, "padding": 8}
    places = {
        "x": quantity("width", x_scale, x_axis) | {"title": "key width"},
        "y": quantity("value", y_scale, {"values": ticks, "format": ",~r"}),
    }
    apart = {"detail": {"field": "series", "type": "nominal"}}
    dotted = {"type": "line", "color": INK, "strokeDash": [1, 4], "strokeWidth": 2}
    layers = [
        layer(lines, {"type": "line", "strokeWidth": 2}, places | colour | dash),
        layer(points, {"type": "circle", "size": 30, "opacity": 0.6}, places | colour),
        layer(claimed, dotted, places | apart),
    ]
    chart = {"width": 270, "height": 200, "layer": layers}
    return svg(chart, f"{title} by key width")


def by_length(title: str, drawn: Sequence[Line]) -> Markup:
    """A score by the mean length of the sources of each part, a dot a seed, a line a variant."""
    points, means = [], []
    for line in drawn:
        means += [{"series": line.variant, "length": s, "value": v} for s, v in line.means]
        for length, column in zip(line.lengths, line.values, strict=True):
            points += [{"series": line.variant, "length": length, "value": v} for v in column]
    dashes = ([1, 0], [6, 3], [2, 3])
    colour, dash = told_apart(
        [line.variant for line in drawn],
        [COLOURS[number % len(COLOURS)] for number in range(len(drawn))],
        [dashes[number // len(COLOURS) % len(dashes)] for number in range(len(drawn))],
    )
    places = {
        "x": quantity("length", {"nice": False, "padding": 8}, {"tickCount": 5, "grid": False})
        | {"title": "symbols of the source"},
        "y": quantity("value", {"padding": 8}, {"tickCount": 5}),
    }
    layers = [
        layer(means, {"type": "line", "strokeWidth": 2}, places | colour | dash),
        layer(points, {"type": "circle", "size": 30, "opacity": 0.6}, places | colour),
    ]
    return svg({"width": 270, "height": 200, "layer": layers}, f"{title} by source length")


def _tokens(field: str, title: str, tokens: Sequence[str], axis: dict[str, Any]) -> dict[str, Any]:
    """A channel of positions, labelled by their tokens (a literal of Vega's is one of JSON's)."""
    labels = {"labelExpr": f"{json.dumps(list(tokens))}[datum.value]"}
    scale = {"domain": list(range(len(tokens))), "padding": 0}
    place = {"field": field, "type": "ordinal", "title": title}
    return place | {"scale": scale, "axis": axis | labels}


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
