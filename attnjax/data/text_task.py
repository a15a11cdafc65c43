"""A task that reads pairs of texts one by one, from files or from a prepared corpus."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpus import Example, Task
from attnjax.data.special_tokens import END
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import SplitWords, Vocabulary, VocabularyPart
from attnjax.errors import UserError


@dataclass(frozen=True)
class SourceOrder(ABC):
    """The order in which a model reads a source's words."""

    @abstractmethod
    def __call__[S](self, symbols: list[S]) -> list[S]:
        """Return the symbols of a source, without END, in the order in which a model reads them."""


@dataclass(frozen=True, kw_only=True)
class TextTask(Task):
    """Pairs of texts, of any number, in up to three splits; scored by BLEU.

    No text is cut: an empty line is an empty sentence, and a word that the vocabulary lacks is
    UNKNOWN.

    A subclass defines how a split is read (`reader`) and which files it is read from (`files`).

    Attributes:
        train: the name of the training split, or a part of a split: "train[4000:]".
        valid: that of the validation split; None: there is none. `test` likewise.
        vocabulary: that of the source, learned from train; if `target_vocabulary` is None, that of
            both sides, learned from both.
        target_vocabulary: that of the target; None: both sides share `vocabulary`.
        source_order: the order in which a model reads the source's words.
        max_length: the most words of a training example on each side, as the vocabulary counts
            them: its own words or characters; of subwords those between spaces, and each letter of
            a script without spaces. Longer examples are left out and counted in a note. None: all
            are kept.
    """

    train: str = "train"
    valid: str | None = "valid"
    test: str | None = "test"
    vocabulary: VocabularyPart = SplitWords()
    target_vocabulary: VocabularyPart | None = None
    source_order: SourceOrder
    max_length: PositiveInt | None = None

    @property
    def answers(self) -> Literal["text"]:
        return "text"

    @property
    def split_names(self) -> dict[str, str]:
        """The name of each split, or of the part of it, by "train", "valid", "test"."""
        names = {"train": self.train, "valid": self.valid, "test": self.test}
        return {split: name for split, name in names.items() if name is not None}

    def split_name(self, split: str) -> str:
        return self.split_names.get(split, split)

    @abstractmethod
    def reader(self) -> Callable[[str], Iterable[Example]]:
        """Find the corpus, and return a function that reads a split of it by its name.

        A split that may be large is an iterator, which holds no more than an example.
        """

    def files(self, split: str) -> list[Path]:
        """List the files that a whole split is read from; by default none: it is in memory."""
        del split
        return []

    def ids(self, text: str, vocabulary: Vocabulary) -> list[int]:
        return [*self.source_order(vocabulary.encode(text)), END]

    def words(self, text: str, vocabulary: Vocabulary) -> list[str]:
        return self.source_order(vocabulary.split(text))

    def keeps(self, example: Example) -> bool:
        """Return whether a training example is kept; the others are counted in a note."""
        if self.max_length is None:
            return True
        pairs = zip(self.vocabulary_parts, example[:2], strict=True)
        return all(len(part.words(text)) <= self.max_length for part, text in pairs)

    def notes(self, kept: int, count: int) -> tuple[str, ...]:
        """Return notes on training examples of which `kept` of `count` are kept; refuse 0."""
        if not kept:
            raise UserError(
                f"no training example has at most task.max_length={self.max_length} words a side"
            )
        if kept == count:
            return ()
        left_out = f"{count - kept:,} of {count:,} training examples"
        return (f"{left_out} are left out: a side has more than {self.max_length} words",)

    @property
    def vocabulary_parts(self) -> tuple[VocabularyPart, VocabularyPart]:
        """The parts that learn the vocabularies of source and target; they may be the same."""
        return self.vocabulary, self.target_vocabulary or self.vocabulary

    def learn(self, read: Callable[[], Iterable[Example]]) -> Vocabularies:
        """Learn vocabularies from the training examples that are kept, which `read` reads anew."""
        if self.target_vocabulary is None:
            return joint(self.vocabulary.learn(text for pair in read() for text in pair[:2]))
        return Vocabularies(
            self.vocabulary.learn(pair.source for pair in read()),
            self.target_vocabulary.learn(pair.target for pair in read()),
        )
