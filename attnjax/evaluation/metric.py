"""Metrics: parts that score decoded answers against references."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnjax.config.constraints import PositiveFloat, PositiveInt
from attnjax.data.vocabulary import split_at_spaces
from attnjax.errors import UserError, first_line
from attnjax.evaluation.measurement import Better, MetricKey


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A score of answers that is computed from sums over sentences.

        score = value(sum over sentences of statistics)

    Because the statistics add up, the score of any part of a corpus, and of any resample of its
    sentences, needs no text.
    """

    name: ClassVar[str]
    """The name of the score in results, tables and claims."""

    better: ClassVar[Better] = "higher"

    share_of_answers: ClassVar[bool] = False
    """Whether the score is the share of answers that are right, each of them right or wrong."""

    share: ClassVar[bool] = False
    """Whether the score is the share of what is right, such as of words, in [0, 1]."""

    @property
    def key(self) -> MetricKey:
        """The key of the score of the whole test split."""
        return MetricKey(self.name)

    @abstractmethod
    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """Return the statistics of each sentence, [N, C]; their sum determines the score."""

    @abstractmethod
    def value(self, totals: np.ndarray) -> float:
        """Return the score of summed statistics [C]."""

    def details(self, totals: np.ndarray) -> Mapping[str, str]:
        """Describe the score of summed statistics [C] in words, which are saved beside it."""
        return {}

    def score(self, hypotheses: Sequence[str], references: Sequence[str]) -> float:
        """Score a corpus with one reference per sentence.

        Raises:
            UserError: the counts differ, or there is nothing to score.
        """
        check_pairs(hypotheses, references)
        return self.value(self.statistics(hypotheses, references).sum(0))


def check_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse texts that cannot be compared one by one."""
    for given in (hypotheses, references):
        if isinstance(given, str):
            raise UserError(
                f"a metric compares a list of texts with a list of references; got {given[:80]!r}"
            )
    if len(hypotheses) != len(references):
        raise UserError(
            "each reference needs one hypothesis; "
            f"got {len(hypotheses)} hypotheses and {len(references)} references"
        )
    if not references:
        raise UserError("a score needs at least one hypothesis and its reference; got none")


def check_metric(metric: Metric, reference: str) -> None:
    """Try a metric, perhaps a user's own, on a right and an empty answer, before training."""
    trial = f"the metric {type(metric).__name__}, tried on a right answer and an empty one,"
    try:
        statistics: object = metric.statistics([reference, ""], [reference, reference])
        kind = type(statistics).__name__
        if isinstance(statistics, np.ndarray):
            kind = f"{statistics.dtype} of shape {statistics.shape}"
            if statistics.ndim == 2 and len(statistics) == 2 and statistics.dtype.kind in "biuf":
                value: object = metric.value(statistics.sum(0))
                if isinstance(value, float | int):
                    return
                raise UserError(f"must give a float as its value; got {type(value).__name__}")
        raise UserError(
            "must give an array of statistics with a row of numbers for each answer, [2, C]; "
            f"got {kind}"
        )
    except UserError as error:
        raise UserError(f"{trial} {error}") from error
    except Exception as error:
        raise UserError(f"{trial} fails: {type(error).__name__}: {first_line(error)}") from error


@dataclass(frozen=True, kw_only=True)
class ExactMatch(Metric):
    """The share of answers that equal their reference, in [0, 1]."""

    name = "exact_match"
    share_of_answers = True

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        pairs = zip(hypotheses, references, strict=True)
        return np.asarray([(hypothesis == reference, 1) for hypothesis, reference in pairs], int)

    def value(self, totals: np.ndarray) -> float:
        right, count = totals.tolist()
        return right / count


@dataclass(frozen=True, kw_only=True)
class Accuracy(Metric):
    """The share of words that are right at their position, in [0, 1].

        sum of matches / sum of max(words of the answer, words of the reference)

    Words are separated by spaces. A missing word and a superfluous one count as wrong.
    """

    name = "accuracy"
    share = True

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        rows = []
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            answer, wanted = split_at_spaces(hypothesis), split_at_spaces(reference)
            right = sum(word == other for word, other in zip(answer, wanted, strict=False))
            rows.append((right, max(len(answer), len(wanted))))
        return np.asarray(rows, int)

    def value(self, totals: np.ndarray) -> float:
        right, count = totals.tolist()
        return right / count if count else 1.0


@dataclass(frozen=True, kw_only=True)
class ChrF(Metric):
    """The F score of character n-grams, in [0, 100]; spaces are left out.

        100 (1 + beta^2) P R / (beta^2 P + R)

    P and R are the precision and the recall of n-grams, averaged over the orders n = 1, ..., order
    for which both sides have n-grams; n-grams of an answer whose reference is shorter than n are
    not counted. The score equals chrF2 of sacrebleu, which gives no statistics per sentence.

    Attributes:
        order: the length of the longest n-grams.
        beta: how many times more recall weighs than precision.

    Source: Popovic 2015.
    """

    name = "chrf"

    order: PositiveInt = 6
    beta: PositiveFloat = 2.0

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """Count, in columns by order: n-grams of the answer, of the reference, common ones."""
        rows = []
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            row: list[int] = []
            for length in range(1, self.order + 1):
                answer, wanted = _ngrams(hypothesis, length), _ngrams(reference, length)
                counted = answer.total() if wanted else 0
                row += [counted, wanted.total(), (answer & wanted).total()]
            rows.append(row)
        return np.asarray(rows, int)

    def value(self, totals: np.ndarray) -> float:
        counts = totals.reshape(self.order, 3).astype(float)
        counts = counts[(counts[:, :2] > 0).all(1)]
        if not len(counts):
            return 0.0
        precision, recall = (counts[:, 2:] / counts[:, :2]).mean(0)
        if precision + recall == 0:
            return 0.0
        weight = self.beta**2
        return float(100 * (1 + weight) * precision * recall / (weight * precision + recall))


def _ngrams(text: str, length: int) -> Counter[str]:
    characters = "".join(text.split())
    return Counter(
        characters[start : start + length] for start in range(len(characters) - length + 1)
    )
