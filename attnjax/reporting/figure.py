"""The figures of the page."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from attnjax.evaluation.measures.base import Picture
from attnjax.reporting.chart import (
    ACCENT,
    COLORS,
    FAINT,
    INK,
    SECOND,
    distinguish,
    layer,
    one_value,
    quantity,
    svg,
)
from attnjax.reporting.lengths import Line, finite
from attnjax.reporting.mechanism import Panel
from attnjax.reporting.runs import CurvePoint, visible
from attnjax.reporting.summary import ClaimRow

_CELL = 13


def forest(claim: ClaimRow) -> Markup | None:
    """A claim: its interval as a bar, every seed as a dot, the claim's region as a band.

    None if the estimate is not finite.
    """
    if not math.isfinite(claim.estimate):
        return None
    values = finite([value for _, value in claim.seeds])
    ends = finite([claim.low, claim.high, *claim.region, claim.estimate, *values])
    # a difference of 0 means that there is none
    if claim.difference:
        ends.append(0.0)
    margin = 0.15 * (max(ends) - min(ends)) or 1.0
    domain = [min(ends) - margin, max(ends) + margin]
    low, high = _within(domain, claim.low, claim.high)
    left, right = _within(domain, *claim.region)
    x = quantity("left", {"domain": domain, "nice": False}, {"tickCount": 5, "grid": False})
    band = {"type": "rect", "color": ACCENT, "opacity": 0.2}
    bar = {"type": "rule", "color": INK, "strokeWidth": 2}
    point = {"type": "point", "color": INK, "filled": True, "size": 70, "opacity": 1}
    dot = {"type": "point", "color": ACCENT, "filled": True, "size": 22, "opacity": 0.9}
    record = {"left": left, "right": right, "low": low, "high": high, "estimate": claim.estimate}
    below = {"value": 23}
    seeds = layer([{"left": value} for value in values], dot, {"x": x, "y": below})
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
            seeds,
        ],
    }
    return svg(chart, f"Interval of: {claim.text}")


def seeds(metric: str, values: Mapping[str, Sequence[float | None]]) -> Markup | None:
    """A metric: for each variant dots for seeds and a stroke at the mean; None: no value."""
    columns = {variant: finite(column) for variant, column in values.items()}
    points = [{"variant": name, "value": v} for name, column in columns.items() for v in column]
    means = [{"variant": k, "value": sum(v) / len(v)} for k, v in columns.items() if v]
    if not points:
        return None
    every = [point["value"] for point in points]
    domain, ticks = one_value(every)
    scale = {"type": _kind(every, ratio=100), "zero": False, "nice": False, "padding": 8} | domain
    places = {
        "x": quantity("value", scale, {"tickCount": 4} | ticks),
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


def learning(
    variant: str,
    train: Mapping[str, Sequence[CurvePoint]],
    valid: Mapping[str, Sequence[CurvePoint]],
) -> Markup:
    """One variant's training and validation loss over the seeds; the others' training loss faint.

    The line is the mean over the seeds, the band reaches from the least to the greatest. All
    variants have the same axes.
    """
    points = [point for curves in (train, valid) for curve in curves.values() for point in curve]
    every = [loss for point in points for loss in (point.low, point.high)]
    kind = _kind(every, ratio=10)
    domain, ticks = one_value(every)
    scale = {"type": kind, "domain": [min(every), max(every)], "nice": kind == "linear"} | domain
    end = max(point.step for point in points)
    x = quantity("step", {"domain": [0, end]}, {"tickCount": 4, "grid": False})
    y = quantity("mean", scale, {"tickCount": 4} | ticks)
    others = [
        {"variant": name, "step": point.step, "mean": point.mean}
        for name, curve in train.items()
        if name != variant
        for point in curve
    ]
    apart = {"x": x, "y": y, "detail": {"field": "variant", "type": "nominal"}}
    layers = [layer(others, {"type": "line", "color": FAINT, "strokeWidth": 1}, apart)]
    for curve, color in ((train.get(variant), ACCENT), (valid.get(variant), SECOND)):
        own = [point._asdict() for point in curve or ()]
        spread = {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}}
        line = {"type": "line", "color": color, "strokeWidth": 2, "point": False}
        layers.append(layer(own, {"type": "area", "color": color, "opacity": 0.2}, spread))
        layers.append(layer(own, line, {"x": x, "y": y}))
        if len(own) < 10:
            dot = {"type": "circle", "color": color, "size": 25, "opacity": 1}
            layers.append(layer(own, dot, {"x": x, "y": y}))
    chart = {"width": 280, "height": 150, "layer": layers}
    return svg(chart, f"Training and validation loss of {variant}")


def attention(variant: str, picture: Picture) -> Markup:
    """The attention weights of one sentence: source across, target down, gold cells outlined."""
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
    places = {"x": _places("x", len(source)), "y": _places("y", len(target))}
    weight = {"field": "weight", "type": "quantitative", "scale": None, "legend": None}
    outline = {"type": "rect", "filled": False, "stroke": SECOND, "strokeWidth": 1.5}
    short = all(len(token) <= 2 for token in source)
    upright = {"align": "center", "baseline": "bottom"}
    turned = {"angle": 270, "align": "left", "baseline": "middle"}
    above = {"type": "text"} | (upright if short else turned)
    beside = {"type": "text", "align": "right", "baseline": "middle"}
    label = {"text": {"field": "label", "type": "nominal"}}
    layers = [
        layer(cells, {"type": "rect", "color": ACCENT}, places | {"opacity": weight}),
        layer(gold, outline, places),
        layer(_labels("x", source), above, label | {"x": places["x"], "y": {"value": -5}}),
        layer(_labels("y", target), beside, label | {"y": places["y"], "x": {"value": -5}}),
    ]
    step = {"step": _CELL}
    chart = {"width": step, "height": step, "view": {"stroke": FAINT}, "layer": layers}
    return svg(chart, f"Attention of {variant}")


def mechanism(panel: Panel) -> Markup:
    """A panel with logarithmic axes: a dot for each seed, the claimed slope as a dotted line."""
    points, lines, claimed = [], [], []
    for line in panel.series:
        lines += [{"series": line.name, "place": x, "value": v} for x, v in line.means]
        for place, column in zip(line.places, line.values, strict=True):
            points += [{"series": line.name, "place": place, "value": v} for v in column]
        if line.slope is not None:
            (first, start), (last, _) = line.means[0], line.means[-1]
            ends = [(first, start), (last, start * (last / first) ** line.slope)]
            claimed += [{"series": line.name, "place": x, "value": v} for x, v in ends]
    color, dash = distinguish(
        [line.name for line in panel.series],
        [COLORS[line.group % len(COLORS)] for line in panel.series],
        [[1, 0] if line.moment == 0 else [6, 3] for line in panel.series],
    )
    places = sorted({point["place"] for point in lines})
    ticks = _ticks([point["value"] for point in points])
    x_scale = {"type": "log", "base": 2, "nice": False}
    x_axis = {"values": places, "format": "~g", "grid": False}
    y_scale = {"type": "log", "nice": False, "padding": 8}
    channels = {
        "x": quantity("place", x_scale, x_axis) | {"title": panel.axis},
        "y": quantity("value", y_scale, {"values": ticks, "format": ",~r"}),
    }
    apart = {"detail": {"field": "series", "type": "nominal"}}
    dotted = {"type": "line", "color": INK, "strokeDash": [1, 4], "strokeWidth": 2}
    layers = [
        layer(lines, {"type": "line", "strokeWidth": 2}, channels | color | dash),
        layer(points, {"type": "circle", "size": 30, "opacity": 0.6}, channels | color),
        layer(claimed, dotted, channels | apart),
    ]
    chart = {"width": 270, "height": 200, "layer": layers}
    return svg(chart, f"{panel.title} by {panel.axis}")


def by_length(title: str, drawn: Sequence[Line]) -> Markup:
    """A score by source length: a line for each variant, a dot for each seed and part."""
    points, means = [], []
    for line in drawn:
        means += [{"series": line.variant, "length": s, "value": v} for s, v in line.means]
        for length, column in zip(line.lengths, line.values, strict=True):
            points += [{"series": line.variant, "length": length, "value": v} for v in column]
    dashes = ([1, 0], [6, 3], [2, 3])
    color, dash = distinguish(
        [line.variant for line in drawn],
        [COLORS[number % len(COLORS)] for number in range(len(drawn))],
        [dashes[number // len(COLORS) % len(dashes)] for number in range(len(drawn))],
    )
    domain, ticks = one_value([point["value"] for point in points])
    places = {
        "x": quantity("length", {"nice": False, "padding": 8}, {"tickCount": 5, "grid": False})
        | {"title": "symbols of the source"},
        "y": quantity("value", {"padding": 8} | domain, {"tickCount": 5} | ticks),
    }
    layers = [
        layer(means, {"type": "line", "strokeWidth": 2}, places | color | dash),
        layer(points, {"type": "circle", "size": 30, "opacity": 0.6}, places | color),
    ]
    return svg({"width": 270, "height": 200, "layer": layers}, f"{title} by source length")


def _places(field: str, count: int) -> dict[str, Any]:
    """A channel of positions; their labels are marks, because tokens may repeat."""
    scale = {"domain": list(range(count)), "padding": 0}
    return {"field": field, "type": "ordinal", "title": None, "scale": scale, "axis": None}


def _labels(field: str, tokens: Sequence[str]) -> list[dict[str, Any]]:
    return [{field: place, "label": token} for place, token in enumerate(tokens)]


def _ticks(values: Sequence[float]) -> list[float]:
    """Round values for a logarithmic axis: powers of ten, or 1, 2 and 5 times them if near."""
    low, high = math.log10(min(values)), math.log10(max(values))
    factors = (1, 2, 5) if high - low < 2 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    return [factor * 10.0**power for power in powers for factor in factors]


def _kind(values: Sequence[float], *, ratio: float) -> str:
    """The kind of scale: logarithmic if all values are positive and their ratio exceeds `ratio`."""
    return "log" if min(values) > 0 and max(values) / min(values) > ratio else "linear"


def _within(domain: Sequence[float], low: float, high: float) -> tuple[float, float]:
    """An interval cut to a domain."""
    left, right = (
        end if math.isfinite(end) else math.copysign(math.inf, end) for end in (low, high)
    )
    return max(left, domain[0]), min(right, domain[1])
