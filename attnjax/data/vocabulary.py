"""Vocabularies of characters, of words between spaces, and of whole labels.

A word of the text that is spelled like a special symbol has an id of its own.
"""

import hashlib
import json
import re
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.data.unspaced import counted_words
from attnjax.errors import UserError
from attnjax.files import write_atomically

SPECIAL = ("<pad>", "<start>", "<end>", "<unknown>")
FILE = "vocabulary.json"
BLOCK = 1_000_000
"""The characters that are encoded at once."""
CONTINUES = "@@"
"""The mark of a subword that goes on in the next word (Sennrich, Haddow & Birch 2016)."""

SPACES = " \t\n\v\f\r"
"""What separates words, see `split_at_spaces`."""
WORD = re.compile(f"[^{SPACES}]+")
OTHER_SPACE = re.compile(rf"[^\S{SPACES}]")
"""A no-break space, an ideographic space and others."""


def split_at_spaces(text: str) -> list[str]:
    """Split a text into the words between ASCII spaces, tabs and line ends.

    A no-break space is a letter of its word: Moses' tokenizer leaves "10 000" one word with one.
    """
    # str.split, which knows all spaces of Unicode, is faster
    return WORD.findall(text) if OTHER_SPACE.search(text) else text.split()


@dataclass(frozen=True)
class Vocabulary(ABC):
    """Translates text to ids and ids to text."""

    pieces: tuple[str, ...]  # the spelling of every id, the four special symbols first

    @property
    def size(self) -> int:
        return len(self.pieces)

    @property
    def dtype(self) -> np.dtype:
        """The smallest type of integers that holds every id."""
        return np.min_scalar_type(self.size)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the class and the fields: equal digests mean equal ids."""
        text = json.dumps([type(self).__name__, *self._fields().values()], ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.compare}

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece: number for number, piece in enumerate(self.pieces) if number >= len(SPECIAL)}

    @abstractmethod
    def split(self, text: str) -> list[str]:
        """Split a text into pieces."""

    def words(self, text: str) -> list[str]:
        """Return the words of a text as `VocabularyPart.words`: its pieces where they are whole."""
        return self.split(text)

    @abstractmethod
    def merge(self, pieces: list[str]) -> str:
        """Join pieces and subwords to the text that is scored: the opposite of `split`."""

    def encode(self, text: str) -> list[int]:
        """Encode a text, without END; a piece that is not in the vocabulary is UNKNOWN."""
        return [self._ids.get(piece, UNKNOWN) for piece in self.split(text)]

    def encode_long(self, text: str) -> np.ndarray:
        """Encode a text as `encode`, to an array of the smallest type that holds every id."""
        return np.array(self.encode(text), self.dtype)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the spelling of each id."""
        return [self.pieces[number] for number in ids]

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids up to END, without PAD and START, to the text that is scored."""
        before_end = takewhile(lambda number: number != END, ids)
        shown = (number for number in before_end if number not in (PAD, START))
        return self.merge(self.tokens(shown))

    def plain(self, text: str) -> str:
        """Return a reference as it is scored: as `decode` gives it if all pieces are known."""
        return self.merge(self.split(text))

    def file_digests(self) -> dict[str, str]:
        """Return the SHA-256 of the files that `save` writes beside the JSON file, by name."""
        return {}

    def save(self, folder: Path) -> None:
        """Write the vocabulary into a folder, which is made if it does not exist."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {"kind": type(self).__name__, "digest": self.digest, **self._fields()}
        content |= self.file_digests()
        text = json.dumps(content, ensure_ascii=False, indent=0) + "\n"
        write_atomically(folder / FILE, text)

    @classmethod
    def restore(cls, folder: Path, content: Mapping[str, Any]) -> "Vocabulary":
        """Restore the vocabulary that `save` wrote into a folder; `content` is its JSON file's.

        Raises:
            KeyError, TypeError, ValueError: the content is damaged.
        """
        del folder
        values = {field.name: content[field.name] for field in fields(cls)}
        return cls(**values | {"pieces": tuple(content["pieces"])})


class CharacterVocabulary(Vocabulary):
    """Each character (code point) is a piece."""

    def split(self, text: str) -> list[str]:
        return list(text)

    def merge(self, pieces: list[str]) -> str:
        return "".join(pieces)

    def encode_long(self, text: str) -> np.ndarray:
        of_code = np.full(sys.maxunicode + 1, UNKNOWN, self.dtype)
        of_code[[ord(piece) for piece in self._ids]] = [*self._ids.values()]
        ids = np.empty(len(text), self.dtype)
        for start in range(0, len(text), BLOCK):
            codes = text[start : start + BLOCK].encode("utf-32-le", "surrogatepass")
            ids[start : start + BLOCK] = of_code[np.frombuffer(codes, "<u4")]
        return ids

    def plain(self, text: str) -> str:
        return text


class WordVocabulary(Vocabulary):
    """Each word between spaces is a piece; `@@` at a word's end joins it to the next one."""

    def split(self, text: str) -> list[str]:
        return split_at_spaces(text)

    def encode_long(self, text: str) -> np.ndarray:
        # line by line, since a word is an object of fifty bytes; every line's end is a space
        return np.fromiter(chain.from_iterable(map(self.encode, text.split("\n"))), self.dtype)

    def merge(self, pieces: list[str]) -> str:
        # as `sed -r 's/(@@ )|(@@ ?$)//g'`, which is how these files are scored
        return (" ".join(pieces) + " ").replace(CONTINUES + " ", "").rstrip(" ")


class LabelVocabulary(Vocabulary):
    """Each text as a whole is one piece: "very good" is a label, not two words."""

    def split(self, text: str) -> list[str]:
        return [text]

    def merge(self, pieces: list[str]) -> str:
        return " ".join(pieces)

    def plain(self, text: str) -> str:
        # spaces at the ends that no label has
        return text if text in self._ids else text.strip()


@dataclass(frozen=True, kw_only=True)
class VocabularyPart(ABC):
    """A way to learn a vocabulary from the training texts. A part of a task."""

    def words(self, text: str) -> list[str]:
        """Return the words of a text, by which a task counts its length.

        They are separated by spaces; a letter of a script without spaces is a word of its own.
        """
        return counted_words(text)

    def files(self) -> list[Path]:
        """List the files that the vocabulary depends on, besides the texts."""
        return []

    @abstractmethod
    def learn(self, texts: Iterable[str]) -> Vocabulary:
        """Learn the vocabulary of these texts."""


@dataclass(frozen=True, kw_only=True)
class Characters(VocabularyPart):
    """The characters of the texts, sorted by code point; a text is as long as it has characters."""

    def words(self, text: str) -> list[str]:
        return list(text)

    def learn(self, texts: Iterable[str]) -> CharacterVocabulary:
        return CharacterVocabulary((*SPECIAL, *sorted(set().union(*texts))))


@dataclass(frozen=True, kw_only=True)
class SplitWords(VocabularyPart):
    """The words between spaces, for text that is already tokenized and split into subwords.

    ASCII spaces, tabs and line ends part words; a no-break space is a letter.

    Attributes:
        min_count: the smallest number of occurrences of a word; rarer words become UNKNOWN.
        max_size: the largest number of words; the most frequent ones are kept. None: no limit.
    """

    min_count: PositiveInt = 1
    max_size: PositiveInt | None = None

    def words(self, text: str) -> list[str]:
        return split_at_spaces(text)

    def learn(self, texts: Iterable[str]) -> WordVocabulary:
        """Learn the words, the most frequent ones first, equally frequent ones by alphabet."""
        return self.of_counts(self.count(texts))

    def count(self, texts: Iterable[str]) -> Counter[str]:
        return Counter(word for text in texts for word in self.words(text))

    def of_counts(self, counts: Counter[str]) -> WordVocabulary:
        """Return the vocabulary of texts with these counts of words; see `learn`."""
        frequent = {word: count for word, count in counts.items() if count >= self.min_count}
        if not frequent:
            raise UserError(
                f"no word occurs {self.min_count} times (vocabulary.min_count); the most frequent "
                f"of {len(counts)} words occurs {max(counts.values(), default=0)} times"
            )
        return self._vocabulary((*SPECIAL, *by_frequency(frequent)[: self.max_size]))

    def _vocabulary(self, pieces: tuple[str, ...]) -> WordVocabulary:
        return WordVocabulary(pieces)


@dataclass(frozen=True, kw_only=True)
class Labels(VocabularyPart):
    """The labels of a classification task; a label may contain spaces."""

    def learn(self, texts: Iterable[str]) -> LabelVocabulary:
        return LabelVocabulary((*SPECIAL, *by_frequency(Counter(texts))))


def by_frequency(counts: Mapping[str, int]) -> list[str]:
    """Sort texts, the most frequent ones first, equally frequent ones by alphabet."""
    return sorted(counts, key=lambda text: (-counts[text], text))
