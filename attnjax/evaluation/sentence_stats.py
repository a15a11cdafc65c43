"""The statistics from which a run's score is computed, one row per test sentence.

A run keeps them in sentences.json, so that its score can be computed again for some of the
sentences (`measures.by_length`), or for resampled ones (`statistics`), without any text.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.config.serialize import from_json, json_text, parse_json, to_json
from attnjax.errors import UserError
from attnjax.evaluation.metric import Metric, check_pairs
from attnjax.files import plain_file, write_atomically

FILE = "sentences.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class Sentences:
    """The statistics of one run's answers to its test sentences.

    Attributes:
        metric: the metric that the statistics belong to.
        lengths: the symbols of each source, END not counted, int [N]; None: sources are not text.
        statistics: [N, C], see `Metric.statistics`.
    """

    metric: Metric
    lengths: np.ndarray | None
    statistics: np.ndarray

    @property
    def totals(self) -> np.ndarray:
        """The statistics summed over the sentences, [C]."""
        return self.statistics.sum(0)

    def value(self) -> float:
        """Return the score of these sentences."""
        return self.metric.value(self.totals)

    def at(self, indices: np.ndarray) -> "Sentences":
        """Return the sentences at these indices."""
        lengths = None if self.lengths is None else self.lengths[indices]
        return replace(self, lengths=lengths, statistics=self.statistics[indices])

    def comparable(self, other: "Sentences") -> bool:
        """Return whether both have the same metric, and sources of the same lengths in order."""
        return (
            self.metric == other.metric
            and len(self.statistics) == len(other.statistics)
            and _listed(self.lengths) == _listed(other.lengths)
        )

    def write(self, folder: Path, own: Mapping[str, type] | None = None) -> None:
        """Write the statistics into a run's folder; `own` has the experiment file's dataclasses."""
        content = {
            "metric": to_json(self.metric, own),
            "lengths": _listed(self.lengths),
            "statistics": self.statistics.tolist(),
        }
        write_atomically(folder / FILE, json_text(content) + "\n")


def _listed(lengths: np.ndarray | None) -> list[int] | None:
    return None if lengths is None else lengths.tolist()


def _array(lengths: Sequence[int] | None) -> np.ndarray | None:
    return None if lengths is None else np.asarray(lengths, np.int64)


def sentences(
    metric: Metric,
    hypotheses: Sequence[str],
    references: Sequence[str],
    lengths: Sequence[int] | None,
) -> Sentences:
    """Compute the statistics of answers under a metric; `lengths` as in `Sentences`."""
    check_pairs(hypotheses, references)
    statistics = metric.statistics(hypotheses, references)
    return Sentences(metric=metric, lengths=_array(lengths), statistics=statistics)


def read(folder: Path, own: Mapping[str, type] | None = None) -> Sentences | None:
    """Read the statistics from a run's folder; None: the run decoded nothing."""
    path = folder / FILE
    try:
        content = parse_json(plain_file(path).read_text(encoding="utf-8"))
        metric, lengths = from_json(content["metric"], own), _array(content["lengths"])
        rows = content["statistics"]
        statistics = [[math.nan if item is None else item for item in row] for row in rows]
        return checked(metric, lengths, np.asarray(statistics))
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise UserError(f"{path} is damaged: {error}") from error


def checked(metric: Any, lengths: np.ndarray | None, statistics: np.ndarray) -> Sentences:
    """Return the statistics of a file, which may have any content.

    Raises:
        UserError: this is no metric, or it takes other statistics.
    """
    if not isinstance(metric, Metric):
        raise UserError(f"{type(metric).__name__} is not a metric")
    if statistics.ndim != 2 or statistics.dtype.kind not in "iuf":
        raise UserError("its statistics are no rows of numbers")
    if lengths is not None and lengths.shape != statistics.shape[:1]:
        raise UserError("it has another number of lengths than of sentences")
    sentences = Sentences(metric=metric, lengths=lengths, statistics=statistics)
    try:
        with np.errstate(all="ignore"):
            sentences.value()
    except (TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise UserError(f"{metric.name} takes other statistics: {error}") from error
    return sentences
