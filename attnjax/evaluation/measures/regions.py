"""Whether a captioner attends to the part of the image that its words name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.alignment import (
    Heatmaps,
    attention_of,
    check_shown,
    corpus_alignment_error,
)
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Numbers
from attnjax.models.base import Model


@dataclass(frozen=True, kw_only=True)
class Regions(Heatmaps):
    """The share of words whose strongest weight lies in the region that the word names.

    "region_accuracy" counts the words with a known region (of equally strong patches the first
    counts), while the decoder is given the references; higher is better. "region_chance" is what a
    random patch would reach: the mean share of the patches that a region covers.
    """

    numbers: ClassVar[Numbers] = {"region_accuracy": "higher", "region_chance": None}
    shares = frozenset({"region_accuracy"})

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        examples = corpus.splits[SPLIT]
        regions = [region for example in examples for region in example.alignment or () if region]
        if not regions:
            raise UserError("Regions needs words with a known region; the corpus has none")
        largest, patches = max(map(max, regions)), check_shown(model, examples[0])
        if largest >= patches:
            raise UserError(
                f"a region names patch {largest}, and the model's encoder makes {patches} patches "
                "of an image: its stride must be the task's patch"
            )

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        pairs, shares = [], []
        for weights, regions in attention_of(inputs):
            pairs.append((weights, regions))
            shares += [len(region) / weights.shape[1] for region in regions if region]
        return self.measured(1 - corpus_alignment_error(pairs), float(np.mean(shares)))
