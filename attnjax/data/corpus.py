"""Examples as text, as ids, and a corpus of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attnjax.data.symbols import END
from attnjax.data.vocabulary import Vocabulary


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
    """An example as ids, both sides ended by END; `alignment` has an empty set for the END."""

    source: list[int]
    target: list[int]
    alignment: tuple[frozenset[int], ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """What a task loads.

    Attributes:
        vocabulary: of source and target.
        splits: encoded examples by "train", "valid", "test"; a split that a task lacks is absent.
        references: the targets of each split as they are scored: plain text, subwords joined.
    """

    vocabulary: Vocabulary
    splits: Mapping[str, list[Encoded]]
    references: Mapping[str, list[str]]


def encode(examples: Iterable[Example], vocabulary: Vocabulary) -> list[Encoded]:
    """Examples as ids; what the vocabulary lacks is UNKNOWN, and nothing is cut."""
    return [
        Encoded(
            [*vocabulary.encode(source), END],
            [*vocabulary.encode(target), END],
            None if alignment is None else (*alignment, frozenset()),
        )
        for source, target, alignment in examples
    ]


def build(splits: Mapping[str, Sequence[Example]], vocabulary: Vocabulary) -> Corpus:
    """The corpus of splits of examples under a vocabulary."""
    return Corpus(
        vocabulary=vocabulary,
        splits={name: encode(examples, vocabulary) for name, examples in splits.items()},
        references={
            name: [vocabulary.plain(example.target) for example in examples]
            for name, examples in splits.items()
        },
    )
