"""Tasks, and the corpora that they load: examples encoded as the input of a model."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Gt, Le

from attnjax.data.examples import Encoded, Examples, Origins
from attnjax.data.files import Encoding
from attnjax.data.special_tokens import END
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import Vocabulary

type ExampleCount = Annotated[int, Gt(0), Le(10_000_000)]
"""The number of examples of a split that a task generates; all are held in memory."""


class Example(NamedTuple):
    """A source and its target text, with the alignment of their tokens if it is known.

    Attributes:
        source: text, or an array of floats (an image).
        target: text.
        alignment: for each target token the positions of the source tokens that it comes from; an
            empty set: unknown for this token; None: unknown for all tokens.
    """

    source: Any
    target: str
    alignment: Origins | None = None


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """The data of a task: vocabularies, encoded examples, and references to score against.

    Attributes:
        splits: encoded examples by "train", "valid", "test"; a split that does not exist is absent.
        sources: the source texts of each split, as written; empty if the sources are not text.
        references: the target texts of each split, as they are scored: subwords joined; of raw text
            the whole split is one text.
        notes: sentences about the data that a reader of the results must know, such as "12 of 500
            training examples are left out: ..."; printed before training.
        text_notes: see `attnjax.data.text_notes`; None: nothing is counted yet.
        drawn: draws the corpus of a seed; None: the runs of all seeds share this corpus.
    """

    vocabularies: Vocabularies
    splits: Mapping[str, Examples]
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    references: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    text_notes: tuple[str, ...] | None = None
    drawn: "Callable[[int], Corpus] | None" = field(default=None, compare=False, repr=False)
    _digests: dict[str, str] = field(default_factory=dict, init=False, compare=False, repr=False)

    def of_seed(self, seed: int) -> "Corpus":
        """Return the corpus of the run of a seed."""
        return self if self.drawn is None else self.drawn(seed)

    def digest(self, split: str) -> str:
        """Return a digest of the sources and references of a split, in their order."""
        if split not in self._digests:
            self._digests[split] = self._known_digest(split) or self._digest(split)
        return self._digests[split]

    def _known_digest(self, split: str) -> str:
        """Return the digest of a split if its texts know it, or ""."""
        sides = self.sources.get(split), self.references.get(split)
        known = {getattr(texts, "of_split", "") for texts in sides}
        return known.pop() if len(known) == 1 else ""

    def _digest(self, split: str) -> str:
        digest, count, breaks = hashlib.sha256(), 0, []
        for count, text in enumerate(
            chain(self.sources.get(split, ()), self.references.get(split, ())), start=1
        ):
            digest.update(text.encode() + b"\n")
            if "\n" in text:
                breaks.append((count, text.count("\n")))
        if breaks and count > 1:  # a single text, of raw text, is told by its lines
            digest.update(json.dumps(breaks).encode())  # "a\nb" is not "a" and "b"
        examples = self.splits.get(split)
        # ids of texts are left out: they depend on the vocabulary
        if examples and examples.ask_at_places:
            _add_labeled(digest, examples)
        elif examples and not (examples.source.are_ids and examples.target.are_ids):
            for example in examples:
                for side in example[:2]:
                    if isinstance(side, np.ndarray):
                        digest.update(side.tobytes())
        return digest.hexdigest()[:16]


def _add_labeled(digest: Any, examples: Examples) -> None:
    """Add sources, asked places and labels, whose ids a task gives without a text."""
    for rows in (examples.source, examples.target):
        digest.update(rows.lengths.tobytes())
        for start, stop in zip(rows.starts.tolist(), rows.stops.tolist(), strict=True):
            digest.update(rows.values[start:stop].astype(np.int32, copy=False).tobytes())


def ids(text: str, vocabulary: Vocabulary) -> list[int]:
    """Encode a text, with END; a piece that is not in the vocabulary becomes UNKNOWN."""
    return [*vocabulary.encode(text), END]


def build(
    splits: Mapping[str, Sequence[Example]],
    vocabularies: Vocabularies,
    source_ids: Callable[[str, Vocabulary], list[int]] = ids,
) -> Corpus:
    """Encode examples by "train", "valid", "test" with the vocabularies of both sides.

    A source without a vocabulary stays an array; a target without one is empty.
    `source_ids` encodes a source: `Task.ids` if a task changes the order.
    """
    source, target = vocabularies

    def encoded(example: Example) -> Encoded:
        if source is None and isinstance(example.source, str):
            raise ValueError("text needs a vocabulary; got None")
        alignment = example.alignment
        return Encoded(
            example.source if source is None else source_ids(example.source, source),
            [] if target is None else ids(example.target, target),
            None if alignment is None else (*alignment, frozenset()),
        )

    return Corpus(
        vocabularies=vocabularies,
        splits={name: Examples.of(map(encoded, examples)) for name, examples in splits.items()},
        sources={
            name: [example.source for example in examples]
            for name, examples in splits.items()
            if source is not None
        },
        references={
            name: [target.plain(example.target) for example in examples]
            for name, examples in splits.items()
            if target is not None
        },
    )


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """A task: the data of an experiment, and the kind of its answers."""

    @property
    def file_encoding(self) -> Encoding:
        """The encoding that a trained run expects of further files: that of the task's files."""
        return getattr(self, "encoding", "UTF-8")

    @property
    def answers(self) -> Literal["exact", "text"] | None:
        """The kind of answer, which decides the default metric.

        "exact": one answer is right (exact match); "text": an answer may be good in part (BLEU);
        None: nothing is decoded, and measures alone give the results.
        """
        return None

    @abstractmethod
    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        """Read or generate the corpus, the same one each time.

        Vocabularies are those of an earlier run; None: they are learned from the training split.

        Raises:
            UserError: fields contradict each other, or data are missing or malformed.
        """

    def split_name(self, split: str) -> str:
        """Return the name that "train", "valid" or "test" has in its source, for results."""
        return split

    def of_seed(self, seed: int) -> "Task":
        """Return the task of the run of a seed: a task that generates data draws it by this seed.

        A part that is a task, or a tuple of tasks, gets the seed, too.
        """

        def drawn(part: Any) -> Any:
            if isinstance(part, tuple):
                return tuple(map(drawn, part))
            return part.of_seed(seed) if isinstance(part, Task) else part

        parts = {field.name: drawn(getattr(self, field.name)) for field in fields(self)}
        return replace(self, **parts)

    def ids(self, text: str, vocabulary: Vocabulary) -> list[int]:
        """Encode a source text as the corpus encodes its sources."""
        return ids(text, vocabulary)

    def words(self, text: str, vocabulary: Vocabulary) -> list[str]:
        """Split a source text into words, one for each of its `ids` but END."""
        return vocabulary.split(text)


@dataclass(frozen=True, kw_only=True)
class ChangedTask(Task):
    """A task whose examples are made from those of another, and are read and scored as they are."""

    task: Task

    @property
    def file_encoding(self) -> Encoding:
        return self.task.file_encoding

    @property
    def answers(self) -> Literal["exact", "text"] | None:
        return self.task.answers

    def split_name(self, split: str) -> str:
        return self.task.split_name(split)

    def ids(self, text: str, vocabulary: Vocabulary) -> list[int]:
        return self.task.ids(text, vocabulary)

    def words(self, text: str, vocabulary: Vocabulary) -> list[str]:
        return self.task.words(text, vocabulary)
