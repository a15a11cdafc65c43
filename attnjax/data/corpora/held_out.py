"""Corpora that come in two splits: the third, for validation, is held out of train."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attnjax.data.corpus import Corpus, Example, Task, build
from attnjax.data.generated.sequences import check_at_least
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SplitWords, VocabularyPart
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class WithHeldOut(Task):
    """Texts of which some of train are held out; scored by exact match.

    The vocabularies of source and target are learned apart, from what is left of train; every
    symbol of the target has an id.

    Attributes:
        valid: how many examples of train are held out.
        seed: of what is drawn: the same one, the same splits.
        vocabulary: of the source.
    """

    valid: int = 500
    seed: int = 0
    vocabulary: VocabularyPart = SplitWords()

    @property
    def metric(self) -> Literal["exact_match"]:
        return "exact_match"

    @abstractmethod
    def read(self) -> tuple[list[Example], list[Example]]:
        """Read the examples of train, of which some will be held out, and those of test.

        Raises:
            UserError: on data that is missing or not as it should be.
        """

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        check_at_least(1, self, "valid")
        check_at_least(0, self, "seed")
        whole, test = self.read()
        if self.valid >= len(whole):
            raise UserError(
                f"fewer examples than the {len(whole):,} of train were wanted to be held out of "
                f"it; got task.valid={self.valid:,}"
            )
        valid, train = hold_out(whole, self.valid, self.seed)
        if vocabularies is None:
            vocabularies = Vocabularies(
                self.vocabulary.learn(example.source for example in train),
                SplitWords().learn(example.target for example in train),
            )
        return build({"train": train, "valid": valid, "test": test}, vocabularies, self.ids)


def hold_out(
    examples: Sequence[Example], count: int, seed: int
) -> tuple[list[Example], list[Example]]:
    """So many examples, drawn without replacement, and the others; both in the order given."""
    drawn = set(np.random.default_rng(seed).permutation(len(examples))[:count].tolist())
    return (
        [example for place, example in enumerate(examples) if place in drawn],
        [example for place, example in enumerate(examples) if place not in drawn],
    )
