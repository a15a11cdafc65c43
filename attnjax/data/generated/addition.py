"""Sums of two numbers, character by character: the task of Keras' addition example."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from attnjax.data.corpus import Corpus, ExampleCount
from attnjax.data.generated.labeled_places import FIRST_ID, Drawn
from attnjax.data.generated.seeded import SeededTask
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError

SPACE, ASKED = "_", "?"
"""What fills up a question and an answer, and the word at each place of the answer."""
WORDS = (*"0123456789+", SPACE, ASKED)


@dataclass(frozen=True, kw_only=True)
class Addition(SeededTask):
    """Add two numbers of at most n digits; the question is read backwards.

        7 + 52    is read as  _ 2 5 + 7 ? ? ?    with the labels  5 9 _  at the last three places

    A question has 2 n + 1 characters, an answer n + 1. No two numbers are added twice, in either
    order; which one is the first is drawn. Words and labels share one vocabulary, see
    `LabeledPlaces`: a `Labeler` learns them, and `LabelAccuracy` counts characters. There is no
    validation split.

    Attributes:
        digits: n.
        train: the number of training examples; test likewise.

    Raises:
        UserError: there are fewer pairs of numbers than examples.

    Source: github.com/keras-team/keras-io, examples/nlp/addition_rnn.py. There the numbers of
    digits are drawn first, so that small numbers come more often if there are pairs left over.
    """

    digits: Annotated[int, Ge(1), Le(3)] = 2
    train: ExampleCount = 4_500
    test: ExampleCount = 500

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        pairs = np.stack(np.triu_indices(10**self.digits), -1)
        if self.train + self.test > len(pairs):
            raise UserError(
                f"task.train and test need {self.train + self.test:,} different pairs of numbers; "
                f"task.digits={self.digits} makes {len(pairs):,}"
            )
        generator = np.random.default_rng(self.seed or 0)
        chosen = generator.permutation(pairs)[: self.train + self.test]
        chosen = generator.permuted(chosen, axis=1)
        drawn = self._drawn(chosen)
        cuts = {"train": slice(self.train), "test": slice(self.train, None)}
        splits = {
            split: Drawn(*(array[cut] for array in drawn)).examples() for split, cut in cuts.items()
        }
        return Corpus(vocabularies=joint(WordVocabulary((*SPECIAL, *WORDS))), splits=splits)

    def _drawn(self, pairs: np.ndarray) -> Drawn:
        """Return the examples of pairs of numbers [N, 2]."""
        asked, length = self.digits + 1, 2 * self.digits + 1
        questions = [f"{a}+{b}".ljust(length, SPACE)[::-1] + ASKED * asked for a, b in pairs]
        answers = [str(total).ljust(asked, SPACE) for total in pairs.sum(1)]
        sources, labels = (
            np.array([[WORDS.index(character) for character in text] for text in texts])
            for texts in (questions, answers)
        )
        places = np.broadcast_to(np.arange(length, length + asked), labels.shape)
        return Drawn(FIRST_ID + sources, places, FIRST_ID + labels)
