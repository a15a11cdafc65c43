"""Whether an advantage grows with the length of the source."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnjax.errors import UserError
from attnjax.evaluation.measures.by_length import Parts, by_length
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.experiment.estimands import Difference, Estimand, Results, Spread


@dataclass(frozen=True, kw_only=True)
class LengthGain(Difference):
    """The better variant's gain on the longest sources minus its gain on the shortest.

        mean over seeds of [score(better) - score(worse)] on the part with the longest sources
            - the same on the part with the shortest

    The test split is cut into `parts`, see `measures.by_length`; resamples draw from the two parts
    separately. 0 means that length makes no difference. Where each seed has sentences of its own,
    the interval is Student's t over seeds.

    Source: the statement of Bahdanau et al. 2015, section 5.1 and Figure 2.
    """

    of_answers: ClassVar[bool] = True

    parts: Parts = 4

    def groups(self, sentences: Sentences) -> list[np.ndarray]:
        if sentences.lengths is None:
            raise UserError("a gain by length needs sources that are text")
        parts = by_length(sentences.lengths, self.parts)
        return [parts[0], parts[-1]]

    def values(self, results: Results) -> dict[int, float]:
        pairs = self.pairs(results)
        if not all(ours.comparable(theirs) for ours, theirs in pairs.values()):
            raise UserError(
                f"{self.better} and {self.worse} cannot be compared by sentence: "
                "their test splits or their metrics differ"
            )
        return {seed: self.of_sentences(pair, self.groups(pair[0])) for seed, pair in pairs.items()}

    def spread_of(self, values: Sequence[float], results: Results) -> Spread:
        return self.over_sentences(results) or Estimand.spread_of(self, values, results)
