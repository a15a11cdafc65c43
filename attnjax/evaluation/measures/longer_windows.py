"""What a language model loses on windows longer than those it was trained on.

Press et al. 2022, Figure 1 and appendix Table 2: "extrapolation".
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from annotated_types import MinLen

from attnjax.config.constraints import PositiveInt, check_fields
from attnjax.data.corpora.raw_text import windows
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure
from attnjax.evaluation.measures.perplexity import LIKELIHOOD
from attnjax.evaluation.metric import Metric
from attnjax.models.base import Model


@dataclass(frozen=True, kw_only=True)
class LongerWindows(Measure):
    """The loss of a language model on the test text, cut into windows of several lengths.

    For each length n the text is cut into windows of n symbols, one after the other, of which the
    first is read after the symbol before the text, and each symbol after those before it in its
    window. With L_n = -mean log2 p(symbol), over the whole text:

        bits_at_n        L_n
        loss_ratio_at_n  L_n / L_m,   m the first of `lengths`, that of training

    A ratio below 1 says that the model uses what stands farther away than in training, one above 1
    that it is confused by it. Lower is better. A model whose positions end below the longest length
    is refused.

    Source: Press et al. 2022, appendix, Table 2 (perplexities of windows that do not overlap).
    """

    lengths: Annotated[tuple[PositiveInt, ...], MinLen(2)] = (64, 128, 256)

    def __post_init__(self) -> None:
        check_fields(self)
        if any(first >= second for first, second in pairwise(self.lengths)):
            raise UserError(
                f"LongerWindows.lengths are growing, that of training first; got {self.lengths}"
            )

    def keys(self, metric: Metric | None) -> Sequence[MetricKey]:
        return [*map(_bits, self.lengths), *map(_ratio, self.lengths[1:])]

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        if any(corpus.splits[SPLIT].lengths[:, 0] != 1):
            raise UserError(
                "LongerWindows reads a text in windows, each after one symbol: wanted a task such "
                "as RawText without a task.stride"
            )
        model.check_lengths(np.array([self.lengths[-1]]), f"of {SPLIT} windows", "target")

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        bits = [*self._losses(inputs)]
        values = [*bits, *(value / bits[0] for value in bits[1:])]
        return [
            Measurement(key, value, better="lower")
            for key, value in zip(self.keys(None), values, strict=True)
        ]

    def _losses(self, inputs: EvalInputs) -> Iterator[float]:
        """Yield the bits of a symbol at each length."""
        examples = inputs.corpus.splits[SPLIT]
        text = np.concatenate([examples[0].source, *(example.target for example in examples)])
        for length in self.lengths:
            cut = windows(text, 1, length=length, stride=length, context=1)
            batching = inputs.batching.with_room(cut, shapes=2)
            sums = inputs.sums(LIKELIHOOD, ("nll",), cut, batching)
            ((total, symbols),) = sums.sum(0, dtype=np.float64)
            yield float(total / symbols / math.log(2))


def _bits(length: int) -> MetricKey:
    return MetricKey(f"bits_at_{length}")


def _ratio(length: int) -> MetricKey:
    return MetricKey(f"loss_ratio_at_{length}")
