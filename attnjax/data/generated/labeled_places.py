"""Tasks that ask for labels at some places of a source: the base of those of the arena."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Le

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpus import Corpus
from attnjax.data.examples import Examples, Rows
from attnjax.data.generated.seeded import check_size
from attnjax.data.generated.sequences import Generated
from attnjax.data.special_tokens import PAD
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError

FIRST_ID = len(SPECIAL)
"""The id of the first word of a source, and that of the first label."""

type Length = Annotated[PositiveInt, Le(100_000)]


class Drawn(NamedTuple):
    """Drawn examples as integers, filled up with PAD behind the words, and behind the labels.

    Word i of a task has the id FIRST_ID + i, and so has label i among the labels.
    """

    sources: np.ndarray  # ids of words [N, S], without END
    places: np.ndarray  # [N, K], 0 is the first word
    labels: np.ndarray  # ids of labels [N, K]; PAD: nothing is asked there

    def examples(self) -> Examples:
        """Return the examples without padding; a target is an array [K, 2] of places and labels."""
        asked = self.labels != PAD
        target = np.stack([self.places[asked], self.labels[asked]], -1).astype(np.int32)
        words = self.sources != PAD
        source = self.sources[words].astype(np.int32)
        return Examples(
            Rows.cut(source, _offsets(words.sum(1))), Rows.cut(target, _offsets(asked.sum(1)))
        )


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)])


@dataclass(frozen=True, kw_only=True)
class LabeledPlaces(Generated):
    """Random sources, with labels at some of their places; nothing is decoded.

    An example has K asked places, its target is an array [K, 2] of (place, label), see `Drawn`. A
    `Labeler` learns to give the labels, by the objective `LabelEntropy`, and `LabelAccuracy` counts
    those that are right.

    Lengths are drawn with equal probability from `shortest`, `shortest` + `length_step`, ... to
    `longest`; the test split goes beyond, if there is a `test_longest`. Examples may repeat, and
    one of the test split may be in train: with few symbols there are few short ones. A training
    split as large as a run reads, updates times examples of a batch, is fresh data at every step.

    A subclass has `source_words`, and `label_words` if labels are no words of the sources, and it
    draws examples of given lengths.

    Attributes:
        shortest: the smallest length in every split; `longest`: the largest one in training.
        test_longest: the second half of the test examples has lengths above `longest` up to this
            one, each equally often; None: the test split has the lengths of training.
        test_every: of the lengths above `longest` only every so many are tested, from the last.
    """

    length_step: ClassVar[int] = 1
    """The difference between a length and the next one."""

    shortest: Length = 1
    longest: Length = 40
    test_longest: Length | None = None
    test_every: PositiveInt = 1

    @property
    @abstractmethod
    def source_words(self) -> tuple[str, ...]:
        """The words of the sources."""

    @property
    def label_words(self) -> tuple[str, ...] | None:
        """The labels; None: they are words of the sources, and both have one vocabulary."""
        return None

    @abstractmethod
    def draw(self, generator: np.random.Generator, lengths: np.ndarray) -> Drawn:
        """Draw an example of each of the lengths [N]."""

    @property
    def answers(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None

    @property
    def lengths_beyond(self) -> np.ndarray:
        """The lengths of the test split that training has not, in ascending order."""
        if self.test_longest is None:
            return np.arange(0)
        every = self.length_step * self.test_every
        last = self.test_longest - (self.test_longest - self.shortest) % self.length_step
        return np.arange(last, self.longest, -every)[::-1]

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        self.check()
        own = self._vocabularies()
        if vocabularies not in (None, own):
            raise UserError(
                f"a {type(self).__name__} has words of its own, and takes no other vocabulary"
            )
        generator = self.generator
        splits = {
            split: self.draw(generator, lengths).examples()
            for split, lengths in self._lengths(generator)
        }
        return Corpus(vocabularies=own, splits=splits)

    def check(self) -> None:
        """Refuse fields that contradict each other, or ask too much; a subclass adds its own."""
        longest = max(self.longest, self.test_longest or 0)
        check_size(
            max(self.train, self.valid, self.test) * longest, f"examples of {longest:,} symbols"
        )
        if self.longest < self.shortest:
            raise UserError(
                f"task.longest must be at least task.shortest={self.shortest}, got {self.longest}"
            )
        if self.test_longest is not None and not len(self.lengths_beyond):
            raise UserError(
                f"task.test_longest must be a length above task.longest={self.longest}, "
                f"got {self.test_longest}"
            )

    def _vocabularies(self) -> Vocabularies:
        source = WordVocabulary((*SPECIAL, *self.source_words))
        if self.label_words is None:
            return joint(source)
        return Vocabularies(source, WordVocabulary((*SPECIAL, *self.label_words)))

    def _lengths(self, generator: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the lengths of each split, those that are drawn before the others."""
        within = np.arange(self.shortest, self.longest + 1, self.length_step)
        beyond = np.resize(self.lengths_beyond, 0 if self.test_longest is None else self.test // 2)
        for split, number in (("train", self.train), ("valid", self.valid)):
            yield split, generator.choice(within, number)
        drawn = generator.choice(within, self.test - len(beyond))
        yield "test", np.concatenate([drawn, beyond])


def distinct(generator: np.random.Generator, rows: int, below: int, number: int) -> np.ndarray:
    """Draw for each row so many different numbers from 0 to `below` - 1, [rows, number].

    Every order of every choice is equally probable.

    Source: Bentley and Floyd 1987, algorithm F2, followed by a permutation.
    """
    drawn = np.empty((rows, number), np.int64)
    for column, last in enumerate(range(below - number, below)):
        new = generator.integers(last + 1, size=rows)
        taken = (drawn[:, :column] == new[:, None]).any(1)
        drawn[:, column] = np.where(taken, last, new)
    return generator.permuted(drawn, axis=1)
