"""The support of an attention: the number of positions with any weight."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.alignment import Heatmaps, attention_of
from attnjax.evaluation.measures.base import EvalInputs, Numbers


@dataclass(frozen=True, kw_only=True)
class Support(Heatmaps):
    """The mean number of source positions with a weight above 0, of a target word: "support".

    The weights are those of the model's `alignment` while the decoder is given the references.
    Softmax gives all positions of a source some weight, sparsemax and entmax a few.

    Source: Martins and Astudillo 2016, section 2.1 (the support of sparsemax).
    """

    numbers: ClassVar[Numbers] = {"support": None}

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        rows = [(weights > 0).sum(1) for weights, _ in attention_of(inputs)]
        return self.measured(float(np.concatenate(rows).mean()))
