"""What followed a prefix, asked when the prefix comes again; and values in a dictionary of keys."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpus import Corpus
from attnjax.data.examples import Examples, Rows
from attnjax.data.generated.labeled_places import FIRST_ID, Drawn, LabeledPlaces, Length
from attnjax.data.special_tokens import PAD
from attnjax.data.vocabularies import Vocabularies
from attnjax.errors import UserError

PREFIX, UNUSED = "=>", "."
"""The words of both tasks beside symbols, keys and values; UNUSED is in no example."""
FIRST_SYMBOL = FIRST_ID + 2

type Kinds = Annotated[PositiveInt, Le(1_000_000)]


@dataclass(frozen=True, kw_only=True)
class NextWords(LabeledPlaces):
    """Sources whose label at each place is the next word; only the last can be known.

    Validation and test ask at the last place alone.

    Attributes:
        asked: where training asks: at "every" place, as a language model is trained, or at the
            "last" one.
    """

    asked: Literal["every", "last"] = "every"

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        corpus = super().load(vocabularies)
        splits = {
            split: examples if split == "train" else last_label(examples)
            for split, examples in corpus.splits.items()
        }
        return Corpus(vocabularies=corpus.vocabularies, splits=splits)

    def drawn(self, words: np.ndarray, lengths: np.ndarray) -> Drawn:
        """Return sources of these lengths [N], with the next words of words [N, S + 1] as asked."""
        place = np.broadcast_to(np.arange(words.shape[1] - 1), (len(words), words.shape[1] - 1))
        inside = place < lengths[:, None]
        sources, labels = np.where(inside, words[:, :-1], PAD), np.where(inside, words[:, 1:], PAD)
        if self.asked == "every":
            return Drawn(sources, place, labels)
        last = lengths[:, None] - 1
        return Drawn(sources, last, np.take_along_axis(labels, last, axis=1))


def last_label(examples: Examples) -> Examples:
    """Return examples that ask at the last of their asked places alone."""
    target = examples.target
    return Examples(examples.source, Rows(target.values, target.stops - 1, target.stops))


@dataclass(frozen=True, kw_only=True)
class InductionHead(NextWords):
    """Random symbols, a prefix among them and once more at the end: what came after it?

        7 2 => 5 0 2 9 5 =>    asks for 5 at the last place

    Symbols are drawn independently, all equally often. The prefix stands in the place of one of
    them, at any place but the last two before its second one. A model that knows nothing but the
    words is right in one of `symbols` cases, one that does not know them in one of `symbols` + 2.

    Attributes:
        symbols: the number of different symbols; the vocabulary has the prefix beside them, and a
            word that is never drawn.

    Source: Fu et al. 2022 (H3), Table 1, with the sizes and details of the authors' program,
    `safari/src/dataloaders/synthetics.py`: 30 symbols, then the prefix. Gu and Dao 2023 (Mamba),
    section 4.1.2, have 256 words of 16, and test at up to 2^20; their program is not published.
    """

    symbols: Kinds = 18
    shortest: Annotated[Length, Ge(4)] = 31
    longest: Length = 31

    @property
    def source_words(self) -> tuple[str, ...]:
        return (PREFIX, UNUSED, *map(str, range(self.symbols)))

    def draw(self, generator: np.random.Generator, lengths: np.ndarray) -> Drawn:
        rows = np.arange(len(lengths))
        size = (len(lengths), int(lengths.max()) + 1)
        words = generator.integers(self.symbols, size=size) + FIRST_SYMBOL
        first = generator.integers(lengths - 3)
        words[rows, first] = words[rows, lengths - 1] = FIRST_ID
        words[rows, lengths] = words[rows, first + 1]
        return self.drawn(words, lengths)


@dataclass(frozen=True, kw_only=True)
class DictionaryRecall(NextWords):
    """Pairs from a dictionary that each example draws anew, then one of its keys: which value?

        a3 b1 a0 b2 a3 b1 => a0    asks for b2 at the last place

    Each key has one value in an example, drawn independently; pairs repeat. The last key is one of
    those that occur, all equally often, however often they do. A model that knows nothing but the
    values is right in one of `values` cases.

    Attributes:
        keys: the number of different keys; `values`, of different values. The vocabulary has "=>"
            beside them, and a word that is never drawn.

    Source: Fu et al. 2022 (H3), Table 1, with the sizes and details of the authors' program,
    `safari/src/dataloaders/synthetics.py` and `vocab_size_10.yaml`: a vocabulary of ten words, ten
    pairs. There are four values then, which is the chance of 25 % that their table has.
    """

    length_step = 2

    keys: Kinds = 4
    values: Kinds = 4
    shortest: Annotated[Length, Ge(4)] = 22
    longest: Length = 22

    @property
    def source_words(self) -> tuple[str, ...]:
        keys = (f"a{number}" for number in range(self.keys))
        values = (f"b{number}" for number in range(self.values))
        return (PREFIX, UNUSED, *keys, *values)

    def check(self) -> None:
        super().check()
        if self.shortest % 2:
            raise UserError(
                f"task.shortest must be even, of pairs, the prefix and a key; got {self.shortest}"
            )

    def draw(self, generator: np.random.Generator, lengths: np.ndarray) -> Drawn:
        count, most = len(lengths), (int(lengths.max()) - 2) // 2
        rows, pairs = np.arange(count), (lengths - 2) // 2
        value_of = generator.integers(self.values, size=(count, self.keys))
        drawn = generator.integers(self.keys, size=(count, most))
        occurs = np.zeros((count, self.keys), bool)
        for number in range(most):
            inside = rows[number < pairs]
            occurs[inside, drawn[inside, number]] = True
        last = np.where(occurs, generator.random(occurs.shape), -1).argmax(1)
        words = np.empty((count, 2 * most + 3), np.int64)
        words[:, : 2 * most : 2] = drawn + FIRST_SYMBOL
        values = np.take_along_axis(value_of, drawn, axis=1)
        words[:, 1 : 2 * most : 2] = values + FIRST_SYMBOL + self.keys
        words[rows, lengths - 2] = FIRST_ID
        words[rows, lengths - 1] = last + FIRST_SYMBOL
        words[rows, lengths] = value_of[rows, last] + FIRST_SYMBOL + self.keys
        return self.drawn(words, lengths)
