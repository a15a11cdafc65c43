"""Learning curves, attention and references, read from the runs' folders for the page."""

import math
import statistics
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from attnjax.config.constraints import check_fields, check_value, shown
from attnjax.config.serialize import from_json, parse_json
from attnjax.data.special_tokens import END, START
from attnjax.data.vocabulary import SPECIAL
from attnjax.errors import UserError
from attnjax.evaluation.attention_record import LayerWeights, SentenceAttention
from attnjax.evaluation.measures.base import Picture
from attnjax.files import plain_file
from attnjax.lab.log.metrics_log import read
from attnjax.lab.results.summary import Row

_POINTS = 150
"""The largest number of points of a curve, which is a few hundred pixels wide."""


_SHAPELESS = {"Zs": "␣", "Cc": "▫", "Cf": "▫", "Zl": "▫", "Zp": "▫"}
"""What stands for a character, by its category in Unicode."""


class CurvePoint(NamedTuple):
    """The loss at a step: the mean, the least and the greatest of the seeds."""

    step: int
    mean: float
    low: float
    high: float


def folders(row: Row) -> list[Path]:
    """Return the run folders of a variant that still exist, in the order of its seeds."""
    return [run for run in row.runs if run.is_dir()]


def losses(runs: Sequence[Path], split: Literal["train", "valid"]) -> list[CurvePoint]:
    """Return the loss of one variant on a split, over its seeds."""
    values: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        for step, loss in curve(run).get(f"{split} loss", ()):
            values[step].append(loss)
    points = [
        CurvePoint(step, statistics.fmean(seeds), min(seeds), max(seeds))
        for step, seeds in sorted(values.items())
    ]
    return _thinned(points, _POINTS)


def curve(run: Path, most: int = sys.maxsize) -> dict[str, list[tuple[int, float]]]:
    """Read a run's log: (step, value), at most `most`, by "train loss" and the like."""
    points: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in read(run):
        for name, value in row.items():
            if name not in ("step", "epoch", "split") and math.isfinite(value):
                points[f"{row['split']} {name.replace('_', ' ')}"].append((row["step"], value))
    return {name: _thinned(values, most) for name, values in points.items()}


def _thinned[T](points: list[T], most: int) -> list[T]:
    """Return every n-th of the points, the last included."""
    stride = max(1, -(-len(points) // most))
    return points[::-1][::stride][::-1]


def attention(run: Path) -> tuple[SentenceAttention, ...]:
    """Return the kept attention of a run; (): it has none."""
    path = run / "attention.json"
    if not path.exists():
        return ()
    try:
        kept = from_json(parse_json(plain_file(path).read_text(encoding="utf-8")))
        return tuple(_checked(item) for item in kept)
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} is damaged: {error}") from error


def _checked(item: Any) -> SentenceAttention:
    """Check that an item of a file, which may hold anything, is a sentence; return it."""
    if not isinstance(item, SentenceAttention):
        raise UserError(f"wanted the attention to a sentence; got {shown(item)}")
    check_fields(item)
    if not item.layers or any(min(layer.shape) < 1 for layer in item.layers):
        raise UserError("a sentence has no weights")
    return item


def head_picture(sentence: SentenceAttention, layer: LayerWeights, head: int) -> Picture:
    """Return the weights of one head as a picture."""
    of_words = (layer.rows, layer.columns) == ("target", "source")
    return Picture(
        source=sentence.words(layer.columns),
        target=sentence.words(layer.rows),
        weights=tuple(map(tuple, layer.array()[head].tolist())),
        gold=sentence.gold if of_words else (),
    )


def references(run: Path) -> list[tuple[str, str]] | None:
    """Return source and reference of each test sentence; None: the run kept none."""
    path = run / "references.json"
    if not path.exists():
        return None
    try:
        pairs = [tuple(pair) for pair in parse_json(plain_file(path).read_text(encoding="utf-8"))]
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} is damaged: {error}") from error
    check_value(tuple[tuple[str, str], ...], tuple(pairs), f"{path} is damaged")
    return pairs


def hypotheses(run: Path, count: int | None = None) -> list[str]:
    """Return a run's answers to the test sentences, a line each; None: as many as there are.

    Raises:
        UserError: the file cannot be read, or has answers to another number of sentences.
    """
    path = run / "hypotheses.txt"
    try:
        # not read_text, for which a carriage return ends a line, too
        answers = plain_file(path).read_bytes().decode("utf-8").split("\n")[:-1]
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from error
    if count is not None and len(answers) != count:
        raise UserError(f"{path} is damaged: it has {len(answers)} answers to {count} sentences")
    return answers


def visible(token: str) -> str:
    """Return a token with blanks, marks and invisible characters made visible."""
    known = {"": "∅", SPECIAL[START]: "⊢", SPECIAL[END]: "∎"}
    if token in known:
        return known[token]
    shown = "".join(_SHAPELESS.get(unicodedata.category(letter), letter) for letter in token)
    # A vowel sign or an accent is shown on a dotted circle.
    return "◌" + shown if unicodedata.category(shown[0]).startswith("M") else shown
