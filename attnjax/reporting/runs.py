"""Learning curves and attention pictures, read from the runs' folders for the page."""

import math
import statistics
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from attnjax.config.serialize import from_json, parse_json
from attnjax.data.special_tokens import END
from attnjax.data.vocabulary import SPECIAL
from attnjax.errors import UserError
from attnjax.evaluation.measures.base import Picture
from attnjax.reporting.summary import Row
from attnjax.training.log.metrics_log import read

_POINTS = 150
"""The largest number of points of a curve, which is a few hundred pixels wide."""


class CurvePoint(NamedTuple):
    """The loss at a step: the mean, the least and the greatest of the seeds."""

    step: int
    mean: float
    low: float
    high: float


def folders(folder: Path, row: Row) -> list[Path]:
    """The run folders of a variant that still exist, in the order of its seeds."""
    return [folder / name for name in row.runs if (folder / name).is_dir()]


def curve(runs: Sequence[Path], split: Literal["train", "valid"]) -> list[CurvePoint]:
    """The loss of one variant on a split, over its seeds."""
    losses: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        for row in read(run):
            loss = row.get("loss")
            if row["split"] == split and loss is not None and math.isfinite(loss):
                losses[row["step"]].append(loss)
    points = [
        CurvePoint(step, statistics.fmean(values), min(values), max(values))
        for step, values in sorted(losses.items())
    ]
    stride = max(1, -(-len(points) // _POINTS))
    return points[::-1][::stride][::-1]


def picture(runs: Sequence[Path]) -> Picture | None:
    """The attention picture of the first sentence, from the first seed that has one."""
    for run in runs:
        path = run / "attention.json"
        if path.exists():
            try:
                pictures = from_json(parse_json(path.read_text(encoding="utf-8")))
            except ValueError as error:
                raise UserError(f"{path} is damaged: {error}") from error
            drawn = [item for item in pictures if isinstance(item, Picture)]
            if drawn:
                return drawn[0]
    return None


def visible(token: str) -> str:
    """A token with blanks, marks and invisible characters made visible."""
    if not token or token == SPECIAL[END]:
        return "∎" if token else "∅"
    shown = "".join(
        "␣" if category == "Zs" else "▫" if category in ("Cc", "Cf", "Zl", "Zp") else character
        for character, category in ((c, unicodedata.category(c)) for c in token)
    )
    # A vowel sign or an accent is shown on a dotted circle.
    return "◌" + shown if unicodedata.category(shown[0]).startswith("M") else shown
