"""The score by the length of the source: what an encoder that keeps one vector is said to lose.

Bahdanau et al. 2015, Figure 2; Cho et al. 2014 (On the properties of neural machine translation).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure
from attnjax.models.base import Model

type Parts = Literal[2, 3, 4, 5, 10]

NAMES = {2: "half", 3: "third", 4: "quartile", 5: "fifth", 10: "tenth"}
"""What one of so many parts is called, in the names of metrics."""


def by_length(lengths: Sequence[int] | np.ndarray, parts: int) -> list[np.ndarray]:
    """The places of the sentences of each part, the part of the shortest first.

    Sentences are sorted by length, equally long ones as the corpus has them, and cut where the
    parts have as many as each other; the first ones have one more where it does not come out even.
    The cuts depend on the corpus alone.

    Args:
        lengths: of each source, int [N].
        parts: how many parts.

    Raises:
        UserError: fewer sentences than parts, or fewer than 2 parts.
    """
    if not 2 <= parts <= len(lengths):
        raise UserError(
            f"2 parts by length at least, and a sentence for each, were wanted; "
            f"got {parts} parts of {len(lengths)} sentences"
        )
    return np.array_split(np.argsort(np.asarray(lengths), kind="stable"), parts)


@dataclass(frozen=True, kw_only=True)
class ByLength(Measure):
    """The task's metric for the short sentences and for the long ones: "bleu_quartile_1", ...

    Attributes:
        parts: how many parts, 1 being that of the shortest sources (see `by_length`).
    """

    parts: Parts = 4

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        if corpus.vocabularies.source is None or not corpus.references.get(SPLIT):
            raise UserError("a score by length wants text as source, and answers that are scored")
        by_length([len(example.source) for example in corpus.splits[SPLIT]], self.parts)

    def trained(self, subject: EvalInputs) -> dict[str, float]:
        sentences = subject.sentences
        if sentences is None or sentences.lengths is None:
            raise UserError("a score by length wants answers to text; nothing was decoded")
        return {
            f"{sentences.metric}_{NAMES[self.parts]}_{number}": sentences.at(places).value()
            for number, places in enumerate(by_length(sentences.lengths, self.parts), start=1)
        }
