"""Vocabularies: characters, and words that are split already.

Ids 0 to 3 are PAD, START, END and UNKNOWN, whatever the
text holds: a word spelled like one of them gets an id of its own.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.errors import UserError

SPECIAL = ("<pad>", "<start>", "<end>", "<unknown>")
FILE = "vocabulary.json"
CONTINUES = "@@"
"""The mark of a subword that goes on in the next word (Sennrich, Haddow & Birch 2016)."""


@dataclass(frozen=True)
class Vocabulary(ABC):
    """Between text and ids.

    Attributes:
        pieces: the spelling of every id, the four special symbols first.
    """

    pieces: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of ids."""
        return len(self.pieces)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the kind and the pieces: the same digest, the same ids."""
        text = json.dumps([type(self).__name__, self.pieces], ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece: number for number, piece in enumerate(self.pieces) if number >= len(SPECIAL)}

    @abstractmethod
    def split(self, text: str) -> list[str]:
        """A text as pieces."""

    @abstractmethod
    def merge(self, pieces: list[str]) -> str:
        """Pieces as the text that is scored: the opposite of `split`, subwords joined."""

    def encode(self, text: str) -> list[int]:
        """A text as ids, without END; what the vocabulary lacks is UNKNOWN."""
        return [self._ids.get(piece, UNKNOWN) for piece in self.split(text)]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The spelling of each id, to look at."""
        return [self.pieces[number] for number in ids]

    def decode(self, ids: Iterable[int]) -> str:
        """Ids as the text that is scored: up to END, without PAD and START."""
        pieces = []
        for number in ids:
            if number == END:
                break
            if number not in (PAD, START):
                pieces.append(self.pieces[number])
        return self.merge(pieces)

    def plain(self, text: str) -> str:
        """A target as `decode` would give it if every piece were known: what a score refers to."""
        return self.merge(self.split(text))

    def save(self, folder: Path) -> None:
        """Write the vocabulary into a folder, which is made if need be."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {"kind": type(self).__name__, "digest": self.digest, "pieces": self.pieces}
        text = json.dumps(content, ensure_ascii=False, indent=0) + "\n"
        (folder / FILE).write_text(text, encoding="utf-8")

    @classmethod
    def restore(cls, folder: Path, pieces: tuple[str, ...]) -> "Vocabulary":
        """The vocabulary of this kind whose pieces the folder had."""
        del folder
        return cls(pieces)


class CharacterVocabulary(Vocabulary):
    """Every character (code point) is a piece."""

    def split(self, text: str) -> list[str]:
        return list(text)

    def merge(self, pieces: list[str]) -> str:
        return "".join(pieces)


class WordVocabulary(Vocabulary):
    """Text is split at white space; `@@` at a word's end joins it to the next one."""

    def split(self, text: str) -> list[str]:
        return text.split()

    def merge(self, pieces: list[str]) -> str:
        # as `sed -r 's/(@@ )|(@@ ?$)//g'`, which is how these files are scored
        return (" ".join(pieces) + " ").replace(CONTINUES + " ", "").rstrip(" ")


@dataclass(frozen=True, kw_only=True)
class VocabularyPart(ABC):
    """How a task comes by its vocabulary: a part of an experiment."""

    @abstractmethod
    def learn(self, texts: Iterable[str]) -> Vocabulary:
        """The vocabulary of these texts."""


@dataclass(frozen=True, kw_only=True)
class Characters(VocabularyPart):
    """Every character of the texts, by code point."""

    def learn(self, texts: Iterable[str]) -> CharacterVocabulary:
        return CharacterVocabulary((*SPECIAL, *sorted(set().union(*texts))))


@dataclass(frozen=True, kw_only=True)
class SplitWords(VocabularyPart):
    """Words of text that is tokenised, and split into subwords if at all, already.

    Attributes:
        min_count: how often a word must occur to have an id; rarer words are UNKNOWN.
        max_size: the number of words that have an id, the most frequent ones; None: no limit.
    """

    min_count: int = 1
    max_size: int | None = None

    def learn(self, texts: Iterable[str]) -> WordVocabulary:
        """The words, the frequent ones first, equally frequent ones by alphabet.

        Raises:
            UserError: when no word is frequent enough, or a field is less than 1.
        """
        for name in ("min_count", "max_size"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"vocabulary.{name} must be at least 1, got {value}")
        counts = Counter(word for text in texts for word in text.split())
        words = [word for word, count in counts.items() if count >= self.min_count]
        if not words:
            raise UserError(
                f"no word occurs {self.min_count} times (vocabulary.min_count); "
                f"the most frequent of {len(counts)} does {max(counts.values(), default=0)} times"
            )
        words.sort(key=lambda word: (-counts[word], word))
        return WordVocabulary((*SPECIAL, *words[: self.max_size]))
