"""The perplexity of the references under teacher forcing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnjax.data.corpus import Corpus
from attnjax.data.vocabulary import split_at_spaces
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure, Numbers
from attnjax.models.base import Model, SymbolModel
from attnjax.training.objectives.base import CrossEntropy

LIKELIHOOD = CrossEntropy(smoothing=0.0)
SHAPES = 2
"""The largest number of shapes of batches: compiling another costs more time than padding."""


@dataclass(frozen=True, kw_only=True)
class Perplexity(Measure):
    """The perplexity of the test split per symbol and per word, and its bits per character.

    With L = -sum log p(symbol | source, symbols before it), in nats, over the test split:

        perplexity           exp(L / symbols)        of the vocabulary; END is one, where it is
        word_perplexity      exp(L / words)          words between spaces; END does not count
        bits_per_character   L / (characters ln 2)   spaces and line breaks count; END does not

    Lower is better. Words and characters are those of the references as they are scored, subwords
    joined, so that figures of different vocabularies can be compared; the perplexity per symbol
    cannot. An UNKNOWN symbol counts by the probability of UNKNOWN, which is too high: the figures
    flatter a vocabulary that lacks much. A window of raw text is given the symbols before it as far
    as its source has them, see `RawText.stride`.

    Source: Jelinek et al. 1977 (perplexity); Graves 2013, section 3 (bits per character).
    """

    numbers: ClassVar[Numbers] = dict.fromkeys(
        ("perplexity", "word_perplexity", "bits_per_character"), "lower"
    )

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        if not isinstance(model, SymbolModel) or corpus.vocabularies.target is None:
            raise UserError(
                "Perplexity needs a model that predicts words, and targets that are text; got "
                f"{type(model).__name__}"
            )

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        examples, references = inputs.corpus.splits[SPLIT], inputs.corpus.references[SPLIT]
        batching = inputs.batching.with_room(examples, shapes=SHAPES)
        sums = inputs.sums(LIKELIHOOD, ("nll",), examples, batching)
        ((total, symbols),) = sums.sum(0, dtype=np.float64)
        words = sum(len(split_at_spaces(text)) for text in references)
        characters = sum(len(text) for text in references)
        # of no words the perplexity is NaN
        means = [total / (count or math.nan) for count in (symbols, words, characters)]
        with np.errstate(over="ignore"):  # too large for a float, it is infinite
            return self.measured(np.exp(means[0]), np.exp(means[1]), means[2] / math.log(2))
