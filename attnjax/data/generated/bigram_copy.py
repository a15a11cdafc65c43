"""The bigrams of a text, interrupted by copies: a head that has something to do now and then."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpus import Corpus
from attnjax.data.examples import Examples
from attnjax.data.files import Encoding, find_file, read_text
from attnjax.data.generated.labeled_places import FIRST_ID, Drawn, LabeledPlaces, Length
from attnjax.data.special_tokens import PAD, START
from attnjax.data.vocabularies import Vocabularies
from attnjax.errors import UserError


class Bigrams(NamedTuple):
    """The pairs of neighboring characters of a text.

    Attributes:
        characters: sorted by their code, C of them.
        counts: [C], how often each occurs.
        successors: the number of the character after each occurrence, first those of the first
            character. The last character is followed by the first one: none is without successor.
    """

    characters: tuple[str, ...]
    counts: np.ndarray
    successors: np.ndarray

    def draw_next(self, generator: np.random.Generator, last: np.ndarray) -> np.ndarray:
        """Draw what follows each of the characters, numbers: any of its occurrences will do."""
        first = np.cumsum(self.counts) - self.counts
        return self.successors[first[last] + generator.integers(self.counts[last])]


def count_bigrams(text: str) -> Bigrams:
    """Sort the pairs of a text's characters by the first one."""
    characters, numbers = np.unique([*text], return_inverse=True)
    successors = np.roll(numbers, -1)[np.argsort(numbers, kind="stable")]
    return Bigrams(tuple(map(str, characters)), np.bincount(numbers), successors)


@lru_cache(maxsize=1)
def _bigrams_of(file: str, encoding: Encoding) -> Bigrams:
    return count_bigrams(read_text(find_file(file), encoding))


@dataclass(frozen=True, kw_only=True)
class BigramBackcopy(LabeledPlaces):
    """Characters by a text's bigrams; but after a trigger comes the character before it again.

        START m o e o u t u r        with the triggers e and t

    The `triggers` most frequent characters are the triggers. The first character is any other, all
    equally often. The next one is drawn by the text's bigrams, or, after a trigger, is the one
    before the trigger. A head of one layer can do the copying; at all other places it has nothing
    to do. The label at each place is the next character; the test split asks after triggers
    alone, where it can be known.

    Attributes:
        file: of the text, looked for as it is, then under ATTNJAX_DATA.
        triggers: their number, below that of the text's characters.

    Source: Guo et al. 2024 (the Bigram-Backcopy task), with the details of the authors' program,
    `dormant_copy_2` in `BBM/data.py`: tiny Shakespeare, 3 triggers, 256 words.
    """

    file: str = "tinyshakespeare/input.txt"
    encoding: Encoding = "UTF-8"
    triggers: PositiveInt = 3
    shortest: Length = 256
    longest: Length = 256

    @property
    def source_words(self) -> tuple[str, ...]:
        return self._bigrams.characters

    @property
    def trigger_numbers(self) -> np.ndarray:
        """The numbers of the triggers among the text's characters, the most frequent first."""
        return np.argsort(-self._bigrams.counts, kind="stable")[: self.triggers]

    @property
    def _bigrams(self) -> Bigrams:
        return _bigrams_of(self.file, self.encoding)

    def check(self) -> None:
        super().check()
        if self.triggers >= len(self._bigrams.characters):
            raise UserError(
                f"task.triggers must be fewer than the {len(self._bigrams.characters)} characters "
                f"of {self.file}; got {self.triggers}"
            )

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        corpus = super().load(vocabularies)
        test = _after(corpus.splits["test"], self.trigger_numbers + FIRST_ID)
        splits = {**corpus.splits, "test": test}
        return Corpus(vocabularies=corpus.vocabularies, splits=splits)

    def draw(self, generator: np.random.Generator, lengths: np.ndarray) -> Drawn:
        bigrams, count = self._bigrams, len(lengths)
        is_trigger = np.isin(np.arange(len(bigrams.characters)), self.trigger_numbers)
        drawn = np.empty((count, int(lengths.max())), np.int64)
        drawn[:, 0] = generator.choice(np.flatnonzero(~is_trigger), count)
        for place in range(1, drawn.shape[1]):
            last, before = drawn[:, place - 1], drawn[:, max(place - 2, 0)]
            after = bigrams.draw_next(generator, last)
            drawn[:, place] = np.where(is_trigger[last], before, after)
        start = np.full((count, 1), START)
        words = np.concatenate([start, drawn[:, :-1] + FIRST_ID], axis=1)
        places = np.broadcast_to(np.arange(drawn.shape[1]), drawn.shape)
        inside = places < lengths[:, None]
        labels = np.where(inside, drawn + FIRST_ID, PAD)
        return Drawn(np.where(inside, words, PAD), places, labels)


def _after(examples: Examples, triggers: np.ndarray) -> Examples:
    """Return examples that ask at the places alone where the source has a trigger."""
    count, longest = len(examples), int(examples.source.lengths.max())
    sources = examples.source.padded(np.arange(count), (count, longest))
    asked = examples.target.padded(np.arange(count), (count, longest))
    places, labels = asked[..., 0], asked[..., 1]
    return Drawn(sources, places, np.where(np.isin(sources, triggers), labels, PAD)).examples()
