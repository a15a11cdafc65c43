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
"""The names of PAD, START, END and UNKNOWN in vocab.txt, and of the symbol behind our ids."""

IDEOGRAPH = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)
"""A character that is a word of its own."""


def basic_words(text: str, *, lower: bool) -> list[str]:
    """Split a text at spaces, punctuation and ideographs; accents go where letters are lowered.

    Source: BasicTokenizer in the authors' program, github.com/google-research/bert.
    """
    if lower:
        parts = unicodedata.normalize("NFD", text.lower())
        text = "".join(letter for letter in parts if unicodedata.category(letter) != "Mn")
    return "".join(map(_spaced, text)).split()


def _spaced(letter: str) -> str:
    """A character with spaces around it where it is a word of its own; "" for a control one."""
    category = unicodedata.category(letter)
    if letter in "\t\n\r" or category == "Zs":
        return " "
    if category.startswith("C") or letter == "\ufffd":
        return ""
    # symbols such as $ and ^ are punctuation here, where they are ASCII
    symbol = (letter.isascii() and not letter.isalnum()) or category.startswith("P")
    return f" {letter} " if symbol or IDEOGRAPH.match(letter) else letter


def pieces_of(word: str, known: Mapping[str, Any]) -> list[str]:
    """The pieces of a word, each the longest that is known; the word itself if there are none.

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


@dataclass(frozen=True)
class WordPieceVocabulary(Vocabulary):
    """Each piece of a word is a piece of the vocabulary; `##` joins it to the one before."""

    lower: bool = True  # whether texts are lowered and lose their accents

    def split(self, text: str) -> list[str]:
        words = basic_words(text, lower=self.lower)
        return [piece for word in words for piece in pieces_of(word, self._ids)]

    def words(self, text: str) -> list[str]:
        return basic_words(text, lower=self.lower)

    def merge(self, pieces: list[str]) -> str:
        return " ".join(pieces).replace(f" {PREFIX}", "")


@dataclass(frozen=True, kw_only=True)
class WordPiece(VocabularyPart):
    """The pieces of a vocab.txt, whatever the training texts are.

    Attributes:
        file: vocab.txt, a piece a line; looked for as it is, then under ATTNJAX_DATA.
        lower: whether texts are lowered and lose their accents, as for an "uncased" BERT.
    """

    file: str = "vocab.txt"
    lower: bool = True

    def words(self, text: str) -> list[str]:
        return basic_words(text, lower=self.lower)

    def files(self) -> list[Path]:
        return parts(find_file(self.file))

    def learn(self, texts: Iterable[str]) -> WordPieceVocabulary:
        del texts
        pieces = read_pieces(find_file(self.file))
        return WordPieceVocabulary((*SPECIAL, *_own(pieces)), self.lower)


def read_pieces(path: Path) -> list[str]:
    """The pieces of a vocab.txt, in its order."""
    pieces = read_lines(path)
    if len(set(pieces)) < len(pieces):
        twice = next(piece for number, piece in enumerate(pieces) if piece in pieces[:number])
        raise UserError(f"every line of {path} must be another piece; {twice!r} stands there twice")
    for symbol in (*OURS, MASK):
        if symbol not in pieces:
            raise UserError(f"{path} is no vocabulary of BERT: it has no line {symbol}")
    return pieces


def order_of(pieces: Iterable[str]) -> list[int]:
    """For each of our ids the line of vocab.txt; the last is MASK's."""
    lines = {piece: number for number, piece in enumerate(pieces)}
    return [lines[piece] for piece in (*OURS, *_own(lines), MASK)]


def _own(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces that are no special symbols of ours."""
    return (piece for piece in pieces if piece not in (*OURS, MASK))
