"""What all figures are made of: inline SVG from Vega-Lite specifications, in the page's colours.

Text stays text. Every colour is `currentColor` or a variable of style.css, so that a figure follows
the page into the dark and onto paper. Fields have fixed names; the names of variants are only ever
data.
"""

import re
from collections.abc import Sequence
from html import escape
from typing import Any

import vl_convert

from attnjax.reporting.html import Markup

INK, FAINT = "currentColor", "var(--faint)"
ACCENT, SECOND, THIRD = "var(--accent)", "var(--second)", "var(--third)"

COLOURS = (ACCENT, SECOND, THIRD)
"""More cannot be told apart, in the light, in the dark and in print."""

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
}


def layer(
    values: list[dict[str, Any]], mark: dict[str, Any], encoding: dict[str, Any]
) -> dict[str, Any]:
    """Marks of values of their own."""
    return {"data": {"values": values}, "mark": mark, "encoding": encoding}


def quantity(field: str, scale: dict[str, Any], axis: dict[str, Any]) -> dict[str, Any]:
    """A numeric channel without a title."""
    place = {"field": field, "type": "quantitative", "title": None}
    return place | {"scale": {"zero": False} | scale, "axis": axis}


def told_apart(
    names: Sequence[str], colours: Sequence[str], dashes: Sequence[Sequence[int]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The channels of colour and of dashes for lines of these series, with one legend for both."""
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
    colour = {"color": named | {"scale": {"domain": names, "range": colours}}}
    dash = {"strokeDash": named | {"scale": {"domain": names, "range": dashes}}}
    return colour, dash


def svg(chart: dict[str, Any], label: str) -> Markup:
    """The chart as an SVG element of the page, without a namespace, which HTML does not need."""
    text = vl_convert.vegalite_to_svg(chart | {"config": _CONFIG})
    size = re.search(r'width="[^"]*" height="[^"]*" viewBox="[^"]*"', text)
    if size is None:
        raise ValueError(f"an SVG with width, height and viewBox was wanted; got {text[:200]}")
    body = text[text.index(">") + 1 :]
    return Markup(f'<svg role="img" aria-label="{escape(label)}" {size.group()}>{body}')
