"""Words as Moses' tokenizer splits them: what papers of 2014 to 2017 count and score.

sacremoses, its port to Python, is imported when a text is split.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from attnjax.data.vocabulary import SplitWords, Vocabulary, WordVocabulary

if TYPE_CHECKING:
    from sacremoses import MosesTokenizer

type Language = Literal[
    "ca", "cs", "de", "el", "en", "es", "fi", "fr", "ga", "hu", "is", "it",
    "lt", "lv", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "ta",
]  # fmt: skip
"""The languages whose abbreviations and apostrophes Moses knows."""


@cache
def _tokenizer(language: str) -> "MosesTokenizer":
    from sacremoses import MosesTokenizer

    return MosesTokenizer(lang=language)


CACHE_SIZE = 20_000
"""The texts whose words are cached: a sentence's length is checked before it is encoded."""


@lru_cache(CACHE_SIZE)
def tokenize(text: str, language: str) -> tuple[str, ...]:
    """Split a text into words and punctuation marks: `It's late,` -> `It`, `'s`, `late`, `,`."""
    # not escaped: "&" stays "&", as in the text that a reader sees
    return tuple(_tokenizer(language).tokenize(text, escape=False))


@dataclass(frozen=True)
class MosesVocabulary(WordVocabulary):
    """Each word or punctuation mark, by Moses' rules of a language, is a piece."""

    language: str

    def __post_init__(self) -> None:
        if self.language not in get_args(Language.__value__):
            raise ValueError(f"Moses has no language {self.language!r}")

    def split(self, text: str) -> list[str]:
        return [*tokenize(text, self.language)]

    def encode_long(self, text: str) -> np.ndarray:
        # a line is not a sentence: the rules see the whole text
        return Vocabulary.encode_long(self, text)

    def merge(self, pieces: list[str]) -> str:
        return " ".join(pieces)  # the tokenized text, by whose words BLEU is counted


@dataclass(frozen=True, kw_only=True)
class MosesWords(SplitWords):
    """The words and punctuation marks of plain text, by Moses' rules of a language; case is kept.

    An answer is scored as tokenized text against the tokenized reference, as `multi-bleu.perl` did
    for the papers.

    Source: Koehn et al. 2007, `tokenizer.perl`.
    """

    language: Language = "en"

    def words(self, text: str) -> list[str]:
        return [*tokenize(text, self.language)]

    def _vocabulary(self, pieces: tuple[str, ...]) -> MosesVocabulary:
        return MosesVocabulary(pieces, self.language)
