"""Random sequences to copy, reverse, sort, zip or recall from; the base of generated tasks."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import perm
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpus import Corpus, Example, ExampleCount, build
from attnjax.data.generated.seeded import SeededTask
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Generated(SeededTask):
    """A task with random examples; equal fields give equal examples. The metric is exact match.

    Attributes:
        train: the number of training examples; valid and test likewise.
    """

    train: ExampleCount = 10_000
    valid: ExampleCount = 500
    test: ExampleCount = 1_000

    @property
    def answers(self) -> Literal["exact"]:
        return "exact"

    @property
    def generator(self) -> np.random.Generator:
        """The random generator at its beginning."""
        return np.random.default_rng(self.seed or 0)

    @property
    def count(self) -> int:
        """The number of examples of all splits."""
        return self.train + self.valid + self.test

    def check_enough(self, counts: Iterable[int], kind: str, origin: str) -> None:
        """Refuse to draw more examples than the sum of counts.

        `kind` is what is drawn, "sequences", `origin` from what, "3 symbols at lengths 1 to 3".
        """
        # the sum may have thousands of digits: it stops when there are enough
        possible = 0
        for count in counts:
            possible += count
            if possible >= self.count:
                return
        raise UserError(
            f"task.train, valid and test need {self.count:,} different {kind}; {origin} make "
            f"{possible:,}"
        )

    def in_splits(self, examples: list[Example]) -> dict[str, list[Example]]:
        """Cut examples into train, valid, and the rest, which is test."""
        valid, test = self.train, self.train + self.valid
        return {
            "train": examples[:valid],
            "valid": examples[valid:test],
            "test": examples[test:],
        }


@dataclass(frozen=True, kw_only=True)
class Sequences(Generated):
    """Random sequences of symbols; the target is a fixed rearrangement of the source.

    Symbols are numbers with spaces between them. All lengths from `shortest` to `longest` are
    equally probable while sequences of that length are left. No sequence occurs twice, so none of
    the test split is in train.
    """

    symbols: Annotated[PositiveInt, Le(1_000_000)] = 20
    shortest: PositiveInt = 1
    longest: Annotated[PositiveInt, Le(10_000)] = 12

    @abstractmethod
    def origins(self, sequence: tuple[int, ...]) -> list[frozenset[int]]:
        """Return for each symbol of the target the source positions that it may come from."""

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        if self.longest < self.shortest:
            raise UserError(
                f"task.longest must be at least task.shortest={self.shortest}, got {self.longest}"
            )
        lengths = range(self.shortest, self.longest + 1)
        self.check_enough(
            (self.symbols ** self._length(length) for length in lengths),
            "sequences",
            f"{self.symbols} symbols at lengths {self.shortest} to {self.longest}",
        )
        examples = [self._example(sequence) for sequence in self._sequences()]
        if vocabularies is None:
            vocabularies = joint(WordVocabulary((*SPECIAL, *self._words())))
        return build(self.in_splits(examples), vocabularies)

    def _words(self) -> Iterable[str]:
        return map(str, range(self.symbols))

    def _length(self, length: int) -> int:
        """Return the number of symbols of a source of this length."""
        return length

    def _sequences(self) -> list[tuple[int, ...]]:
        generator, count = self.generator, self.count
        distinct: dict[tuple[int, ...], None] = {}
        while len(distinct) < count:
            lengths = generator.integers(self.shortest, self.longest + 1, size=count)
            symbols = generator.integers(self.symbols, size=(count, self._length(self.longest)))
            for length, row in zip(lengths, symbols.tolist(), strict=True):
                distinct.setdefault(tuple(row[: self._length(length)]))
        return list(distinct)[:count]

    def _example(self, sequence: tuple[int, ...]) -> Example:
        origins = tuple(self.origins(sequence))
        target = (self._word([sequence[p] for p in sorted(positions)]) for positions in origins)
        return Example(" ".join(map(str, sequence)), " ".join(target), origins)

    def _word(self, symbols: Sequence[int]) -> str:
        """Return the word of the target that comes from these symbols of the source."""
        return str(symbols[0])


@dataclass(frozen=True, kw_only=True)
class Copy(Sequences):
    """The target is the source."""

    def origins(self, sequence: tuple[int, ...]) -> list[frozenset[int]]:
        return [frozenset((position,)) for position in range(len(sequence))]


@dataclass(frozen=True, kw_only=True)
class Reverse(Sequences):
    """The target is the source reversed: where to attend depends on position and length."""

    def origins(self, sequence: tuple[int, ...]) -> list[frozenset[int]]:
        return [frozenset((position,)) for position in reversed(range(len(sequence)))]


@dataclass(frozen=True, kw_only=True)
class Sort(Sequences):
    """The target is the source sorted: where to attend depends on the symbols alone.

    A symbol that occurs several times may come from any of its positions.
    """

    def origins(self, sequence: tuple[int, ...]) -> list[frozenset[int]]:
        positions = {
            symbol: frozenset(p for p, other in enumerate(sequence) if other == symbol)
            for symbol in set(sequence)
        }
        return [positions[symbol] for symbol in sorted(sequence)]


@dataclass(frozen=True, kw_only=True)
class Zip(Sequences):
    """The source is lists, one after the other; a word of the target joins one symbol of each.

        a_1 ... a_n b_1 ... b_n c_1 ... c_n -> a_1-b_1-c_1 ... a_n-b_n-c_n

    Each word of the target needs a look-up in every list. All lists have the same symbols, so the
    mean of the looked-up symbols does not tell which list each is from. `shortest` and
    `longest` are the lengths of a list.
    """

    lists: Annotated[int, Ge(2), Le(4)] = 3

    def origins(self, sequence: tuple[int, ...]) -> list[frozenset[int]]:
        length = len(sequence) // self.lists
        return [frozenset(range(start, len(sequence), length)) for start in range(length)]

    def _words(self) -> Iterable[str]:
        names = product(map(str, range(self.symbols)), repeat=self.lists)
        return (*super()._words(), *map("-".join, names))

    def _length(self, length: int) -> int:
        return length * self.lists

    def _word(self, symbols: Sequence[int]) -> str:
        return "-".join(map(str, symbols))


@dataclass(frozen=True, kw_only=True)
class AssociativeRecall(Generated):
    """Pairs of a key and its value, then one of the keys: `k3 v7 k0 v2 k8 v7 k0` -> `v2`.

    The keys of an example differ, its values may repeat. All numbers of pairs from `fewest` to
    `most` are equally probable while examples are left. No example occurs twice, so none of the
    test split is in train. The gold alignment of the answer is the position of its value.

    Source: Ba et al. 2016 (fast weights), section 4.1: `c9k8j3f1??c` -> `9`.
    """

    keys: PositiveInt = 26
    values: PositiveInt = 10
    fewest: PositiveInt = 1
    most: PositiveInt = 8

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        if not self.fewest <= self.most <= self.keys:
            raise UserError(
                f"task.most must be from task.fewest={self.fewest} to task.keys={self.keys}, "
                f"got {self.most}"
            )
        numbers = range(self.fewest, self.most + 1)
        self.check_enough(
            (perm(self.keys, pairs) * self.values**pairs * pairs for pairs in numbers),
            "examples",
            f"{self.keys} keys and {self.values} values in {self.fewest} to {self.most} pairs",
        )
        if vocabularies is None:
            keys = (f"k{number}" for number in range(self.keys))
            values = (f"v{number}" for number in range(self.values))
            vocabularies = joint(WordVocabulary((*SPECIAL, *keys, *values)))
        return build(self.in_splits(self._examples()), vocabularies, self.ids)

    def _examples(self) -> list[Example]:
        generator, count = self.generator, self.count
        distinct: dict[str, Example] = {}
        while len(distinct) < count:
            pairs = generator.integers(self.fewest, self.most + 1, size=count)
            keys = generator.random((count, self.keys)).argsort(-1)
            values = generator.integers(self.values, size=(count, self.most))
            asked = generator.integers(pairs)
            for number, key, value, pair in zip(pairs, keys, values, asked, strict=True):
                example = recall(key[:number].tolist(), value[:number].tolist(), int(pair))
                distinct.setdefault(example.source, example)
        return list(distinct.values())[:count]


def recall(keys: list[int], values: list[int], asked: int) -> Example:
    """Return an example: pairs of a key and a value, then the key of the pair number `asked`."""
    pairs = zip(keys, values, strict=True)
    words = [word for key, value in pairs for word in (f"k{key}", f"v{value}")]
    answer = 2 * asked + 1
    return Example(" ".join([*words, words[answer - 1]]), words[answer], (frozenset((answer,)),))
