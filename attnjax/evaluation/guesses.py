"""Guesses at labels without a network: by position alone, and by a table of training examples.

A network that is right no more often than these has not shown that it computes the answers.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attnjax.data.corpus import Corpus
from attnjax.data.examples import Examples
from attnjax.evaluation.measures.base import SPLIT
from attnjax.evaluation.measures.labels import shares


class AskedLabels(NamedTuple):
    """The labels of a split: for each label [L] its example, length of source, place and id.

    `sources` are the words of all examples [N, S], 0 after the last.
    """

    sources: np.ndarray
    examples: np.ndarray
    lengths: np.ndarray
    places: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, split: Examples) -> "AskedLabels":
        """Return the labels of a split whose targets are pairs of a place and a label."""
        ends = split.source.lengths
        sources = split.source.padded(np.arange(len(split)), (len(split), int(ends.max())))
        examples = np.repeat(np.arange(len(split)), split.target.lengths)
        places, labels = np.concatenate([*map(np.asarray, split.target)]).T
        return cls(sources, examples, ends[examples], places, labels)

    def words(self, places: np.ndarray) -> np.ndarray:
        """Return the word at a place of each label's source [L]; -1: it has no such place."""
        there = (places >= 0) & (places < self.lengths)
        words = self.sources[self.examples, np.where(there, places, 0)]
        return np.where(there, words, -1)

    def majority(self, longest: int) -> tuple[float, float]:
        """Return the shares of the most frequent label up to the length `longest`, and beyond."""
        every = [
            self.shares(np.full(len(self.labels), label), longest)
            for label in np.unique(self.labels)
        ]
        within, beyond = zip(*every, strict=True)
        return max(within), max(beyond)

    def shares(self, guessed: np.ndarray, longest: int) -> tuple[float, float]:
        """Return the shares of labels that are right up to the length `longest`, and beyond."""
        number = len(self.sources)
        right = np.bincount(self.examples[guessed == self.labels], minlength=number)
        asked = np.bincount(self.examples, minlength=number)
        ends = np.zeros(number, int)
        ends[self.examples] = self.lengths
        within, _, beyond, _ = shares(np.stack([right, asked], -1), ends, longest)
        return within, beyond


def shares_of_guesses(corpus: Corpus, longest: int) -> dict[str, tuple[float, float]]:
    """Return what each kind of guess gets right up to the length `longest`, and beyond.

    The first kind is the better of the most frequent label of the test split, and of the guess by
    position. The second one looks a source up in a table of all training sources, and is the first
    kind, or a guess by position, where that is better or the source is not there.
    """
    test = AskedLabels.of(corpus.splits[SPLIT])
    majority = test.majority(longest)
    position = test.shares(by_position(corpus), longest)
    table = test.shares(by_table(corpus), longest)
    return {
        "majority or position": _larger(majority, position),
        "table of training strings": _larger(majority, position, table),
    }


def _larger(*shares: tuple[float, float]) -> tuple[float, float]:
    within, beyond = zip(*shares, strict=True)
    return max(within), max(beyond)


def by_position(corpus: Corpus) -> np.ndarray:
    """Guess the test labels by length and place alone, [L].

    A guess is one label, or the word at one place: counted from the first word, from the last, or
    back from the label's place. For each length and place it is the one that is right most often in
    training; for a length that training does not have, the best one for the place, or for the last
    place before it that training has.
    """
    train, test = AskedLabels.of(corpus.splits["train"]), AskedLabels.of(corpus.splits[SPLIT])
    labels = np.unique(train.labels)
    right = np.stack([guess == train.labels for guess in _guesses(train, labels)])
    last = int(test.lengths.max())
    chosen, _ = _best(right, train.places, test.places)
    both, known = _best(
        right, train.lengths * last + train.places, test.lengths * last + test.places
    )
    every = np.stack([*_guesses(test, labels, train.sources.shape[1])])
    return every[np.where(known, both, chosen), np.arange(len(chosen))]


def _best(
    right: np.ndarray, groups: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the guess that is right most often in each wanted group [L], and if it is known.

    `right` says where each guess is right [G, L], `groups` has the group of each label of training.
    The guess for a group that training does not have is that for the last group before it.
    """
    known, places = np.unique(groups, return_inverse=True)
    counts = np.stack([np.bincount(places[row], minlength=len(known)) for row in right])
    nearest = (np.searchsorted(known, wanted, side="right") - 1).clip(min=0)
    return counts.argmax(0)[nearest], known[nearest] == wanted


def _guesses(
    asked: AskedLabels, labels: np.ndarray, width: int | None = None
) -> Iterator[np.ndarray]:
    """Yield what each rule guesses, [L]: a label each, then words by three ways to count places."""
    for label in labels:
        yield np.full(len(asked.labels), label)
    for distance in range(asked.sources.shape[1] if width is None else width):
        yield asked.words(np.full(len(asked.labels), distance))
        yield asked.words(asked.lengths - 1 - distance)
        yield asked.words(asked.places - distance)


def by_table(corpus: Corpus) -> np.ndarray:
    """Guess the test labels by a table of all training sources, [L].

    A source that training does not have is guessed by position.
    """
    train, test = AskedLabels.of(corpus.splits["train"]), AskedLabels.of(corpus.splits[SPLIT])
    table = dict(zip(_keys(train), train.labels.tolist(), strict=True))
    guesses = zip(_keys(test), by_position(corpus).tolist(), strict=True)
    return np.array([table.get(key, guess) for key, guess in guesses])


def _keys(asked: AskedLabels) -> Iterator[tuple[bytes, int]]:
    """Yield the source and place of each label."""
    texts = [row[row != 0].tobytes() for row in asked.sources.astype(np.int32)]
    for example, place in zip(asked.examples.tolist(), asked.places.tolist(), strict=True):
        yield texts[example], place
