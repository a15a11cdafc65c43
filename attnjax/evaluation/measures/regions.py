"""Whether a captioner looks at what it says."""

from dataclasses import dataclass

import numpy as np

from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measures.alignment import check_shown, corpus_alignment_error
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Heatmaps, attention_of
from attnjax.models.base import Model


@dataclass(frozen=True, kw_only=True)
class Regions(Heatmaps):
    """Whether the strongest weight behind a word lies in the region that the word names.

    "region_accuracy" is the share of the words with a known region for which it does (the first of
    equally strong patches counts), while the decoder is given the references. "region_chance" is
    what a random patch would reach: the mean share of the patches that a region covers.
    """

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        examples = corpus.splits[SPLIT]
        regions = [region for example in examples for region in example.alignment or () if region]
        if not regions:
            raise UserError("Regions wants words with a known region; the corpus has none")
        largest, patches = max(map(max, regions)), check_shown(model, examples[0])
        if largest >= patches:
            raise UserError(
                f"a region names patch {largest}, and the model's encoder makes {patches} patches "
                "of an image: its stride must be the task's patch"
            )

    def trained(self, subject: EvalInputs) -> dict[str, float]:
        examples = subject.corpus.splits[SPLIT]
        pairs, shares = [], []
        for index, weights in attention_of(subject, examples):
            regions = examples[index].alignment or ()
            pairs.append((weights, regions))
            shares += [len(region) / weights.shape[1] for region in regions if region]
        return {
            "region_accuracy": 1 - corpus_alignment_error(pairs),
            "region_chance": float(np.mean(shares)),
        }
