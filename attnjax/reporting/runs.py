"""What the page reads from the runs' folders: learning curves and attention pictures."""

import math
import statistics
import unicodedata
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from attnjax.config.serialize import parse_json
from attnjax.data.special_tokens import END
from attnjax.data.vocabulary import SPECIAL
from attnjax.training.metrics_log import FILE, read

_POINTS = 150
"""A curve is drawn a few hundred pixels wide; more points than this cannot be seen."""


class Point(NamedTuple):
    """Mean and standard deviation over the seeds that were validated at this step."""

    step: int
    mean: float
    deviation: float


def folders(folder: Path, row: dict[str, Any]) -> list[Path]:
    """The run folders of a variant, in the order of its seeds; those that are gone left out."""
    named = row.get("runs")
    if named is None:
        named = sorted(path.parent for path in (folder / row["variant"]).glob(f"*/{FILE}"))
    return [folder / name for name in named if (folder / name).is_dir()]


def curve(runs: list[Path]) -> list[Point]:
    """The validation loss of one variant, over its seeds."""
    losses: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        for row in read(run):
            loss = row.get("loss")
            if row.get("split") == "valid" and loss is not None and math.isfinite(loss):
                losses[row["step"]].append(loss)
    points = [
        Point(step, statistics.fmean(values), statistics.stdev(values) if values[1:] else 0.0)
        for step, values in sorted(losses.items())
    ]
    stride = -(-len(points) // _POINTS)
    return points[::-1][:: max(1, stride)][::-1]


def picture(runs: list[Path]) -> dict[str, Any] | None:
    """The first sentence's attention, of the first seed that kept one."""
    for run in runs:
        path = run / "attention.json"
        if path.exists():
            pictures = parse_json(path.read_text(encoding="utf-8"))
            if pictures:
                return pictures[0]
    return None


def visible(token: str) -> str:
    """A token that can be seen on its own: blanks, marks and invisible characters stand out."""
    if not token or token == SPECIAL[END]:
        return "∎" if token else "∅"
    shown = "".join(
        "␣" if category == "Zs" else "▫" if category in ("Cc", "Cf", "Zl", "Zp") else character
        for character, category in ((c, unicodedata.category(c)) for c in token)
    )
    # A vowel sign or an accent needs something to sit on.
    return "◌" + shown if unicodedata.category(shown[0]).startswith("M") else shown
