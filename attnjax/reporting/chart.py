"""The pieces of all figures: inline SVG from Vega-Lite specifications, in the page's colors.

Text stays text. Every color is `currentColor` or a variable of style.css, so that a figure follows
the page into dark mode and onto paper. Fields have fixed names; names of variants and tokens are
only ever data, never part of an expression.
"""

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from attnjax.reporting import drawing

INK, FAINT = "currentColor", "var(--faint)"
ACCENT, SECOND, THIRD = "var(--accent)", "var(--second)", "var(--third)"

COLORS = (ACCENT, SECOND, THIRD)
"""More colors cannot be told apart in light mode, in dark mode and in print."""

_CONFIG = {
    "aria": False,
    "background": "transparent",
    "font": "inherit",
    "padding": 2,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": FAINT,
        "tickColor": FAINT,
        "gridColor": FAINT,
        "gridOpacity": 0.5,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelOverlap": False,
        "labelFlush": False,
    },
    "legend": {"labelColor": INK, "labelFontSize": 11, "labelLimit": 260},
    "text": {"color": INK, "fontSize": 11, "limit": 160},
}


def layer(
    values: list[dict[str, Any]], mark: dict[str, Any], encoding: dict[str, Any]
) -> dict[str, Any]:
    """A layer of marks with values of its own."""
    return {"data": {"values": values}, "mark": mark, "encoding": encoding}


def quantity(field: str, scale: dict[str, Any], axis: dict[str, Any]) -> dict[str, Any]:
    """A numeric channel without a title."""
    place = {"field": field, "type": "quantitative", "title": None}
    return place | {"scale": {"zero": False} | scale, "axis": axis}


def one_value(values: Sequence[float]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of scale and axis if all values are equal; {} otherwise.

    Vega gives such an axis a single tick labeled 0, whatever the value.
    """
    value = values[0]
    if any(other != value for other in values):
        return {}, {}
    margin = 0.1 * abs(value) or 1.0
    domain = {"domain": [value - margin, value + margin], "nice": False}
    return domain, {"values": [value], "format": ".4~g"}


def distinguish(
    names: Sequence[str], colors: Sequence[str], dashes: Sequence[Sequence[int]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The channels of color and dashes for the lines of series, with one legend for both."""
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
    color = {"color": named | {"scale": {"domain": names, "range": colors}}}
    dash = {"strokeDash": named | {"scale": {"domain": names, "range": dashes}}}
    return color, dash


def svg(chart: dict[str, Any], label: str) -> Markup:
    """The chart as an SVG element of the page, without a namespace, which HTML does not need."""
    text = drawing.svg(chart | {"config": _CONFIG})
    size = re.search(r'width="[^"]*" height="[^"]*" viewBox="[^"]*"', text)
    if size is None:
        raise ValueError(
            f"the drawing must be an SVG with width, height and viewBox; got {text[:200]}"
        )
    body = text[text.index(">") + 1 :]
    # Vega has escaped all text
    return Markup(f'<svg role="img" aria-label="{escape(label)}" {size.group()}>{body}')
