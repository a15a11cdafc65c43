"""Learning curves, attention and references, read from the runs' folders for the page."""

import math
import statistics
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from attnjax.config.constraints import check_fields, check_value, shown
from attnjax.config.serialize import from_json, parse_json
from attnjax.data.special_tokens import END, START
from attnjax.data.vocabulary import SPECIAL
from attnjax.errors import UserError
from attnjax.evaluation.attention_record import LayerWeights, SentenceAttention
from attnjax.evaluation.measures.base import Picture
from attnjax.files import plain_file
from attnjax.models.sown_attention import HEAD
from attnjax.results.summary import Row
from attnjax.training.log.metrics_log import read

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
    """The loss of one variant on a split, over its seeds."""
    values: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        for step, loss in curve(run).get(f"{split} loss", ()):
            values[step].append(loss)
    points = [
        CurvePoint(step, statistics.fmean(each), min(each), max(each))
        for step, each in sorted(values.items())
    ]
    return _thinned(points, _POINTS)


def curve(run: Path, most: int = sys.maxsize) -> dict[str, list[tuple[int, float]]]:
    """Every number of a run's log: (step, value), at most so many, by "train loss" and the like."""
    points: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in read(run):
        for name, value in row.items():
            if name not in ("step", "epoch", "split") and math.isfinite(value):
                points[f"{row['split']} {name.replace('_', ' ')}"].append((row["step"], value))
    return {name: _thinned(each, most) for name, each in points.items()}


def _thinned[T](points: list[T], most: int) -> list[T]:
    """Every n-th of the points, the last included."""
    stride = max(1, -(-len(points) // most))
    return points[::-1][::stride][::-1]


def attention(run: Path) -> tuple[SentenceAttention, ...]:
    """The kept attention of a run; (): it has none."""
    path = run / "attention.json"
    if not path.exists():
        return ()
    try:
        kept = from_json(parse_json(plain_file(path).read_text(encoding="utf-8")))
        return tuple(
            _checked(_converted(number, item) if isinstance(item, Picture) else _renamed(item))
            for number, item in enumerate(kept)
        )
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} is damaged: {error}") from error


def _checked(item: Any) -> SentenceAttention:
    """A sentence of a file, which may hold anything."""
    if not isinstance(item, SentenceAttention):
        raise UserError(f"wanted the attention to a sentence; got {shown(item)}")
    check_fields(item)
    if not item.layers or any(min(layer.shape) < 1 for layer in item.layers):
        raise UserError("a sentence has no weights")
    return item


def _converted(number: int, old: Picture) -> SentenceAttention:
    """A picture of an earlier version of attnjax: the mean over the heads of one attention."""
    name, weights = "the last attention to the source, mean over its heads", np.asarray(old.weights)
    layer = LayerWeights.of(name, "target", "source", weights[None])
    return SentenceAttention(
        number=number, source=old.source, target=old.target, gold=old.gold, layers=(layer,)
    )


def _renamed(sentence: SentenceAttention) -> SentenceAttention:
    """Return the attention with its names of now: an earlier version's ended in HEAD."""
    layers = (replace(layer, name=layer.name.removesuffix(HEAD)) for layer in sentence.layers)
    return replace(sentence, layers=tuple(layers))


def head_picture(sentence: SentenceAttention, layer: LayerWeights, head: int) -> Picture:
    """The weights of one head as a picture."""
    of_words = (layer.rows, layer.columns) == ("target", "source")
    return Picture(
        source=sentence.words(layer.columns),
        target=sentence.words(layer.rows),
        weights=tuple(map(tuple, layer.array()[head].tolist())),
        gold=sentence.gold if of_words else (),
    )


def references(run: Path) -> list[tuple[str, str]] | None:
    """Source and reference of each test sentence; None: the run kept none."""
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
    """A token with blanks, marks and invisible characters made visible."""
    known = {"": "∅", SPECIAL[START]: "⊢", SPECIAL[END]: "∎"}
    if token in known:
        return known[token]
    shown = "".join(_SHAPELESS.get(unicodedata.category(letter), letter) for letter in token)
    # A vowel sign or an accent is shown on a dotted circle.
    return "◌" + shown if unicodedata.category(shown[0]).startswith("M") else shown
