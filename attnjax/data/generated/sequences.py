"""Generated sequences to copy, reverse or sort, and the base of all generated tasks."""

from abc import abstractmethod
from dataclasses import dataclass
from math import perm
from typing import Annotated, Literal

import numpy as np
from annotated_types import Le

from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.data.corpus import Corpus, Example, ExampleCount, Task, build
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Generated(Task):
    """Examples that a generator draws, the same for the same fields; scored by exact match.

    Attributes:
        train: the number of training examples.
        valid: of validation examples.
        test: of test examples.
        seed: of the generator.
    """

    train: ExampleCount = 10_000
    valid: ExampleCount = 500
    test: ExampleCount = 1_000
    seed: NonNegativeInt = 0

    @property
    def metric(self) -> Literal["exact_match"]:
        return "exact_match"


@dataclass(frozen=True, kw_only=True)
class Sequences(Generated):
    """Random sequences of symbols, and a fixed rearrangement of each as its target.

    Symbols are numbers, written with spaces between; each length is as probable as another, as
    long as it has sequences left: none occurs twice, so none of test is in train.

    Attributes:
        symbols: how many different symbols there are.
        shortest: the least number of symbols in a sequence.
        longest: the most.
    """

    symbols: Annotated[PositiveInt, Le(1_000_000)] = 20
    shortest: PositiveInt = 1
    longest: Annotated[PositiveInt, Le(10_000)] = 12

    @abstractmethod
    def origins(self, sequence: tuple[int, ...]) -> list[frozenset[int]]:
        """The positions in the source of the symbols that each symbol of the target may be."""

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        if self.longest < self.shortest:
            raise UserError(
                f"task.longest must be at least task.shortest={self.shortest}, got {self.longest}"
            )
        wanted = self.train + self.valid + self.test
        # a part of the sum tells whether there are enough; all of it may have thousands of digits
        possible = 0
        for length in range(self.shortest, self.longest + 1):
            possible += self.symbols**length
            if possible >= wanted:
                break
        else:
            raise UserError(
                f"{wanted:,} different sequences were wanted (task.train, valid and test); "
                f"{self.symbols} symbols at lengths {self.shortest} to {self.longest} "
                f"make {possible:,}"
            )
        examples = [self._example(sequence) for sequence in self._sequences(wanted)]
        if vocabularies is None:
            words = (str(symbol) for symbol in range(self.symbols))
            vocabularies = joint(WordVocabulary((*SPECIAL, *words)))
        return build(cut(examples, self.train, self.valid), vocabularies)

    def _sequences(self, count: int) -> list[tuple[int, ...]]:
        """So many different sequences, drawn until there are enough."""
        generator = np.random.default_rng(self.seed)
        found: dict[tuple[int, ...], None] = {}
        while len(found) < count:
            lengths = generator.integers(self.shortest, self.longest + 1, size=count)
            symbols = generator.integers(self.symbols, size=(count, self.longest))
            for length, row in zip(lengths, symbols.tolist(), strict=True):
                found.setdefault(tuple(row[:length]))
        return list(found)[:count]

    def _example(self, sequence: tuple[int, ...]) -> Example:
        origins = self.origins(sequence)
        return Example(
            " ".join(map(str, sequence)),
            " ".join(str(sequence[min(places)]) for places in origins),
            tuple(origins),
        )


@dataclass(frozen=True, kw_only=True)
class Copy(Sequences):
    """The target is the source."""

    def origins(self, sequence: tuple[int, ...]) -> list[frozenset[int]]:
        return [frozenset((place,)) for place in range(len(sequence))]


@dataclass(frozen=True, kw_only=True)
class Reverse(Sequences):
    """The target is the source from its end: where to look depends on the length, too."""

    def origins(self, sequence: tuple[int, ...]) -> list[frozenset[int]]:
        return [frozenset((place,)) for place in reversed(range(len(sequence)))]


@dataclass(frozen=True, kw_only=True)
class Sort(Sequences):
    """The target is the source's symbols in order: where to look depends on them alone.

    A symbol that occurs several times may come from any of its places.
    """

    def origins(self, sequence: tuple[int, ...]) -> list[frozenset[int]]:
        places = {
            symbol: frozenset(p for p, other in enumerate(sequence) if other == symbol)
            for symbol in set(sequence)
        }
        return [places[symbol] for symbol in sorted(sequence)]


@dataclass(frozen=True, kw_only=True)
class AssociativeRecall(Generated):
    """Pairs of a key and its value, then one of the keys: `k3 v7 k0 v2 k8 v7 k0` -> `v2`.

    No key occurs in two pairs, values may; each number of pairs is as probable as another, as long
    as it has examples left: none occurs twice, so none of test is in train. The answer comes from
    the place of its value, which is the gold alignment.

    Attributes:
        keys: how many different keys there are.
        values: how many different values.
        fewest: the least number of pairs in an example.
        most: the greatest.

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
        wanted = self.train + self.valid + self.test
        # a part of the sum tells whether there are enough
        possible = 0
        for pairs in range(self.fewest, self.most + 1):
            possible += perm(self.keys, pairs) * self.values**pairs * pairs
            if possible >= wanted:
                break
        else:
            raise UserError(
                f"{wanted:,} different examples were wanted (task.train, valid and test); "
                f"{self.keys} keys and {self.values} values in {self.fewest} to {self.most} pairs "
                f"make {possible:,}"
            )
        examples = self._examples(wanted)
        if vocabularies is None:
            keys = (f"k{number}" for number in range(self.keys))
            values = (f"v{number}" for number in range(self.values))
            vocabularies = joint(WordVocabulary((*SPECIAL, *keys, *values)))
        return build(cut(examples, self.train, self.valid), vocabularies, self.ids)

    def _examples(self, count: int) -> list[Example]:
        """So many different examples, drawn until there are enough."""
        generator = np.random.default_rng(self.seed)
        found: dict[str, Example] = {}
        while len(found) < count:
            pairs = generator.integers(self.fewest, self.most + 1, size=count)
            keys = generator.random((count, self.keys)).argsort(-1)
            values = generator.integers(self.values, size=(count, self.most))
            asked = generator.integers(pairs)
            for number, key, value, place in zip(pairs, keys, values, asked, strict=True):
                example = recall(key[:number].tolist(), value[:number].tolist(), int(place))
                found.setdefault(example.source, example)
        return list(found.values())[:count]


def recall(keys: list[int], values: list[int], asked: int) -> Example:
    """The example of these pairs that asks for the key at this place among them."""
    pairs = zip(keys, values, strict=True)
    words = [word for key, value in pairs for word in (f"k{key}", f"v{value}")]
    place = 2 * asked + 1
    return Example(" ".join([*words, words[place - 1]]), words[place], (frozenset((place,)),))


def cut[T](examples: list[T], train: int, valid: int) -> dict[str, list[T]]:
    """Examples as three splits, what is left after train and valid as test."""
    return {
        "train": examples[:train],
        "valid": examples[train : train + valid],
        "test": examples[train + valid :],
    }
