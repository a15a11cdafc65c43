"""Attention weights in a notebook: the picture of the report, head by head."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from attnjax.errors import UserError
from attnjax.evaluation.measures.base import Picture
from attnjax.lab.reporting import drawing, figure

FIGURE = Markup("<figure style='margin: 0'><figcaption>{}</figcaption>{}</figure>")


@dataclass(frozen=True)
class Drawing:
    """A drawing that a notebook shows: an element of a page, with its colors."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


def show(weights: Any, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> Drawing:
    """Draw attention weights [T, S], or those of several heads [H, T, S] side by side.

    The weights lie between 0 and 1. Rows are the words of the queries, columns those of the keys;
    (): their numbers.

    Raises:
        UserError: the weights have another shape.
    """
    weights = np.asarray(weights, float)
    if weights.ndim not in (2, 3):
        raise UserError(f"weights must be [T, S] or [H, T, S]; got {list(weights.shape)}")
    places = [tuple(map(str, range(count))) for count in weights.shape[-2:]]
    target, source = tuple(rows) or places[0], tuple(columns) or places[1]
    if (len(target), len(source)) != weights.shape[-2:]:
        raise UserError(
            f"weights {list(weights.shape)} want {weights.shape[-2]} rows and {weights.shape[-1]} "
            f"columns; got {len(target)} and {len(source)} words"
        )
    figures = []
    with drawing.in_one_process():
        for number, head in enumerate(weights.reshape(-1, *weights.shape[-2:]).tolist()):
            title = f"head {number}" if weights.ndim == 3 else ""
            picture = Picture(source=source, target=target, weights=head)
            drawn = figure.attention(title or "weights", picture)
            figures.append(FIGURE.format(title, drawn))
    return side_by_side(figures)


def side_by_side(figures: Iterable[str]) -> Drawing:
    """Return a drawing of several figures, in the colors of the report."""
    box = f"display: flex; flex-wrap: wrap; gap: 1.5rem; {_colors()}"
    with drawing.in_one_process():
        return Drawing(f'<div style="{box}">{"".join(figures)}</div>')


def _colors() -> str:
    """Return the colors of the report in light mode."""
    style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    return " ".join(re.findall(r"--\w+: #\w+;", style.partition("}")[0]))
