"""A task loads a corpus: examples as text or numbers, encoded as a model takes them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Gt, Le

from attnjax.data.special_tokens import END
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import Vocabulary

type ExampleCount = Annotated[int, Gt(0), Le(10_000_000)]
"""How many examples a generated task has in a split; all are held in memory."""


class Example(NamedTuple):
    """A source, its target, and where the target's tokens come from.

    Attributes:
        source: text.
        target: text.
        alignment: for each token of the target the positions of the source tokens that it comes
            from; an empty set: none is known. None: no alignment is known at all.
    """

    source: str
    target: str
    alignment: tuple[frozenset[int], ...] | None = None


class Encoded(NamedTuple):
    """An example as a model takes it.

    Attributes:
        source: ids, or an array of floats (an image, points).
        target: likewise.
        alignment: as `Example.alignment`, with an empty set for a target's END.
    """

    source: list[int] | np.ndarray
    target: list[int] | np.ndarray
    alignment: tuple[frozenset[int], ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """What a task loads.

    Attributes:
        vocabularies: of source and target.
        splits: encoded examples by "train", "valid", "test"; a split that a task lacks is absent.
        sources: the sources of each split as they are written; none where they are no text.
        references: the targets of each split as they are scored: plain text, subwords joined.
        notes: what a reader of the results must know of the data, in sentences: "12 of 500 training
            examples are left out: ..."; printed before training.
    """

    vocabularies: Vocabularies
    splits: Mapping[str, list[Encoded]]
    sources: Mapping[str, list[str]] = field(default_factory=dict)
    references: Mapping[str, list[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def ids(text: str, vocabulary: Vocabulary) -> list[int]:
    """A text as ids, ended by END; what the vocabulary lacks is UNKNOWN, and nothing is cut."""
    return [*vocabulary.encode(text), END]


def build(
    splits: Mapping[str, Sequence[Example]],
    vocabularies: Vocabularies,
    source_ids: Callable[[str, Vocabulary], list[int]] = ids,
) -> Corpus:
    """The corpus of splits of text under the vocabularies of both sides."""
    source, target = vocabularies
    if source is None or target is None:
        raise ValueError("text has a vocabulary on both sides; got None")

    def encoded(example: Example) -> Encoded:
        alignment = example.alignment
        return Encoded(
            source_ids(example.source, source),
            ids(example.target, target),
            None if alignment is None else (*alignment, frozenset()),
        )

    return Corpus(
        vocabularies=vocabularies,
        splits={name: [*map(encoded, examples)] for name, examples in splits.items()},
        sources={
            name: [example.source for example in examples] for name, examples in splits.items()
        },
        references={
            name: [target.plain(example.target) for example in examples]
            for name, examples in splits.items()
        },
    )


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """Pairs of a source and a target, split into train, valid and test."""

    @property
    @abstractmethod
    def metric(self) -> Literal["exact_match", "bleu"] | None:
        """What an answer is scored by; None: nothing is decoded, a measure gives the figures."""

    @abstractmethod
    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        """Read or generate the corpus: the same one each time.

        Args:
            vocabularies: a run's own, used as they are; None: they are learned from the training
                split.

        Raises:
            UserError: on fields out of range, and on data that is missing or not as it should be.
        """

    def ids(self, text: str, vocabulary: Vocabulary) -> list[int]:
        """A source, as the corpus' sources are encoded."""
        return ids(text, vocabulary)

    def words(self, text: str, vocabulary: Vocabulary) -> list[str]:
        """A source's pieces as its text has them, one for each of its `ids` but END."""
        return vocabulary.split(text)
