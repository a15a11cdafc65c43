"""Corpora of two splits: some training examples are held out for validation."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.data.corpus import Corpus, Example, Task, build
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SplitWords, VocabularyPart
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class WithHeldOut(Task):
    """Text in two splits; some training examples are held out for validation.

    Source and target have a vocabulary each, learned from the training examples that are left.
    Answers are scored by exact match.

    Attributes:
        valid: the number of training examples that are held out.
        seed: the seed of the draw; equal seeds give equal splits.
        vocabulary: the vocabulary of the source.
    """

    valid: PositiveInt = 500
    seed: NonNegativeInt = 0
    vocabulary: VocabularyPart = SplitWords()
    target_vocabulary: ClassVar[VocabularyPart] = SplitWords()  # every word has an id

    @property
    def answers(self) -> Literal["exact"]:
        return "exact"

    @abstractmethod
    def read(self) -> tuple[list[Example], list[Example]]:
        """Read the training examples, of which some will be held out, and the test examples."""

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        return self.encoded(*self.read(), vocabularies)

    def encoded(
        self, whole: list[Example], test: list[Example], vocabularies: Vocabularies | None
    ) -> Corpus:
        """Hold out validation examples of the whole training split, and encode all splits."""
        valid, train = hold_out(whole, "training examples", self.seed, valid=self.valid)
        if vocabularies is None:
            vocabularies = Vocabularies(
                self.vocabulary.learn(example.source for example in train),
                self.target_vocabulary.learn(example.target for example in train),
            )
        return build({"train": train, "valid": valid, "test": test}, vocabularies, self.ids)


def hold_out(
    examples: Sequence[Example], kind: str, seed: int, **counts: int
) -> tuple[list[Example], list[Example]]:
    """Draw as many examples as fields of the task say; return them and the others, in order."""
    count = sum(counts.values())
    if count >= len(examples):
        fields = " and ".join(f"task.{name}={number:,}" for name, number in counts.items())
        raise UserError(f"{fields} must be less than the number of {kind}, {len(examples):,}")
    order = np.random.default_rng(seed).permutation(len(examples))
    drawn, others = np.sort(order[:count]), np.sort(order[count:])
    return [examples[index] for index in drawn], [examples[index] for index in others]
