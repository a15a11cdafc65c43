"""WordPiece: the subwords of BERT, read from its vocab.txt; those of `transformers`' BertTokenizer.

It is written out because it is short and needs no other package.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnjax.data.files import find_file, parts, read_lines
from attnjax.data.vocabulary import SPECIAL, Vocabulary, VocabularyPart
from attnjax.errors import UserError

PREFIX = "##"
"""Stands before a piece that continues a word."""

LONGEST = 100
"""A word of more characters is UNKNOWN."""

OURS, MASK = ("[PAD]", "[CLS]", "[SEP]", "[UNK]"), "[MASK]"
"""The names of PAD, START, END and UNKNOWN in vocab.txt, and of the symbol after our ids."""

IDEOGRAPH = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)
"""A character that is a word of its own."""


def normalized(text: str, *, lower: bool, strip_accents: bool) -> str:
    """Return a text in small letters, or without accents, or both."""
    if lower:
        text = text.lower()
    if strip_accents:
        parts = unicodedata.normalize("NFD", text)
        text = "".join(letter for letter in parts if unicodedata.category(letter) != "Mn")
    return text


def basic_words(
    text: str, *, lower: bool, strip_accents: bool, split_ideographs: bool = True
) -> list[str]:
    """Split a text at spaces, punctuation and, if wanted, ideographs, and normalize its letters.

    Source: BasicTokenizer in the authors' program, github.com/google-research/bert.
    """
    text = normalized(text, lower=lower, strip_accents=strip_accents)
    spaced = (_spaced(letter, split_ideographs=split_ideographs) for letter in text)
    return "".join(spaced).split()


def _spaced(letter: str, *, split_ideographs: bool) -> str:
    """Put spaces around a character that is a word of its own; drop a control character."""
    category = unicodedata.category(letter)
    if letter in "\t\n\r" or category == "Zs":
        return " "
    if category.startswith("C") or letter == "\ufffd":
        return ""
    # symbols such as $ and ^ are punctuation here, where they are ASCII
    symbol = (letter.isascii() and not letter.isalnum()) or category.startswith("P")
    alone = symbol or (split_ideographs and IDEOGRAPH.match(letter))
    return f" {letter} " if alone else letter


def pieces_of(word: str, known: Mapping[str, Any]) -> list[str]:
    """Split a word into the longest known pieces; return the word itself if there are none.

    Source: Wu et al. 2016, section 4.1; WordpieceTokenizer in the authors' program of BERT.
    """
    if len(word) > LONGEST:
        return [word]
    parts, start = [], 0
    while start < len(word):
        prefix = PREFIX if start else ""
        for stop in range(len(word), start, -1):
            if prefix + word[start:stop] in known:
                parts.append(prefix + word[start:stop])
                start = stop
                break
        else:
            return [word]
    return parts


class Reading:
    """How a text is read as words; the fields are those of `WordPiece`."""

    lower: bool
    strip_accents: bool | None
    split_ideographs: bool

    @property
    def strips_accents(self) -> bool:
        """Whether letters lose their accents."""
        return self.lower if self.strip_accents is None else self.strip_accents

    def words(self, text: str) -> list[str]:
        return basic_words(
            text,
            lower=self.lower,
            strip_accents=self.strips_accents,
            split_ideographs=self.split_ideographs,
        )


@dataclass(frozen=True)
class WordPieceVocabulary(Reading, Vocabulary):
    """Words are split into the pieces of the vocabulary; `##` joins a piece to the one before."""

    lower: bool = True
    strip_accents: bool | None = None
    split_ideographs: bool = True

    def split(self, text: str) -> list[str]:
        return [piece for word in self.words(text) for piece in pieces_of(word, self._ids)]

    def merge(self, pieces: list[str]) -> str:
        return " ".join(pieces).replace(f" {PREFIX}", "")


@dataclass(frozen=True, kw_only=True)
class WordPiece(Reading, VocabularyPart):
    """The pieces of a vocab.txt, whatever the training texts are.

    Attributes:
        file: vocab.txt, a piece a line; looked for as it is, then under ATTNJAX_DATA.
        lower: whether texts are lowered, as for an "uncased" BERT.
        strip_accents: whether they lose their accents; None: if they are lowered.
        split_ideographs: whether each Chinese character is a word of its own.
    """

    file: str = "vocab.txt"
    lower: bool = True
    strip_accents: bool | None = None
    split_ideographs: bool = True

    def files(self) -> list[Path]:
        return parts(find_file(self.file))

    def learn(self, texts: Iterable[str]) -> WordPieceVocabulary:
        del texts
        pieces = (*SPECIAL, *_own(read_pieces(find_file(self.file))))
        return WordPieceVocabulary(pieces, self.lower, self.strip_accents, self.split_ideographs)


def read_pieces(path: Path) -> list[str]:
    """Read the pieces of a vocab.txt, in its order."""
    pieces = read_lines(path)
    if len(set(pieces)) < len(pieces):
        twice = next(piece for number, piece in enumerate(pieces) if piece in pieces[:number])
        raise UserError(f"every line of {path} must be another piece; {twice!r} stands there twice")
    for symbol in (*OURS, MASK):
        if symbol not in pieces:
            raise UserError(f"{path} is no vocabulary of BERT: it has no line {symbol}")
    return pieces


def order_of(pieces: Iterable[str]) -> list[int]:
    """Return the line of vocab.txt for each of our ids; the last is MASK's."""
    lines = {piece: number for number, piece in enumerate(pieces)}
    return [lines[piece] for piece in (*OURS, *_own(lines), MASK)]


def _own(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the pieces that are none of our special symbols."""
    return (piece for piece in pieces if piece not in (*OURS, MASK))
