"""Replacement of unknown words in answers by the source words that the attention points to.

With a vocabulary of frequent words, a model writes UNKNOWN for any rarer word. UNKNOWN is replaced
by the source word with the largest attention weight, or by that word's translation. The weights
come from one teacher-forced pass over the finished answer.

Source: Jean et al. 2015; the "unk replace" of Luong, Pham & Manning 2015, Table 1.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnjax.data.batching import Batching
from attnjax.data.corpora.parallel_text import TabSeparated
from attnjax.data.corpus import Corpus, Encoded
from attnjax.data.sentencepiece import SentencePieceVocabulary
from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.data.vocabulary import Vocabulary
from attnjax.errors import UserError
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.measures.alignment import alignments, check_shown
from attnjax.evaluation.metric import Metric
from attnjax.models.base import Model


def before_replacement(metric: Metric) -> MetricKey:
    """Return the key of the metric of answers in which unknown words are left."""
    return MetricKey(f"{metric.name}_before_replacement")


@dataclass(frozen=True, kw_only=True)
class Replacement(ABC):
    """The replacement of an unknown word. A part: subclasses are chosen on the command line."""

    @abstractmethod
    def translations(self) -> Mapping[str, str]:
        """Return the translations of source words; a word without one is copied."""

    def check(self, model: Model, corpus: Corpus) -> None:
        """Refuse, before training, a model or a corpus whose unknown words cannot be replaced."""
        for vocabulary in corpus.vocabularies:
            if vocabulary is None or isinstance(vocabulary, SentencePieceVocabulary):
                raise UserError(
                    f"{type(self).__name__} replaces unknown words of text by source words; a side "
                    "of this task is not text, or is split into sentencepieces, which can spell "
                    "any word"
                )
        self.translations()
        check_shown(model, corpus.splits["train"][0])


@dataclass(frozen=True, kw_only=True)
class CopyUnknown(Replacement):
    """The source word itself, which is right for names and numbers."""

    def translations(self) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True, kw_only=True)
class Dictionary(Replacement):
    """The source word's translation in a dictionary, or the word itself if it is not there.

    Attributes:
        file: a file with a source word, a tab and its translation in each line; the first line of a
            word counts. The path is as given, or relative to the folder ATTNJAX_DATA.
    """

    file: str

    def translations(self) -> Mapping[str, str]:
        translations: dict[str, str] = {}
        for example in TabSeparated().reader()(self.file):
            translations.setdefault(example.source, example.target)
        return translations


def replace_unknown(
    model: Model,
    params: Any,
    *,
    words: Sequence[Sequence[str]],
    sources: Sequence[list[int] | np.ndarray],
    answers: Sequence[Sequence[int]],
    vocabulary: Vocabulary,
    replacement: Replacement,
    batching: Batching,
) -> list[str]:
    """Return answers as text, unknown words replaced; only such answers pass through the model.

    `words` are spelled as in the text of each source; sources and answers are ids, ended by END.
    """
    translations = replacement.translations()
    texts = [vocabulary.decode(answer) for answer in answers]
    ended = enumerate(map(_until_end, answers))
    asked = [(number, answer) for number, answer in ended if UNKNOWN in answer]
    if not asked:
        return texts
    examples = [Encoded(sources[number], answer) for number, answer in asked]
    for index, weights in alignments(model, params, examples, batching):
        number, answer = asked[index]
        if len(words[number]) != len(sources[number]) - 1:
            raise ValueError(
                f"each of the {len(sources[number]) - 1} source symbols needs a word; "
                f"got {len(words[number])} words"
            )
        pieces = replaced(answer, vocabulary.tokens(answer), words[number], weights, translations)
        texts[number] = vocabulary.merge(pieces)
    return texts


def replaced(
    answer: Sequence[int],
    pieces: Sequence[str],
    words: Sequence[str],
    weights: np.ndarray,
    translations: Mapping[str, str],
) -> list[str]:
    """Replace each UNKNOWN among the pieces of an answer.

        piece[t] = translation of word[j],   j = argmax over words of weights[t, j]

    A word without a translation is copied. Columns of the weights [>= T, >= S] beyond the words are
    ignored; if all words have weight 0, UNKNOWN stays. PAD, START, END and what follows END are
    dropped.
    """
    output = []
    for symbol, piece, row in zip(answer, pieces, weights, strict=False):
        if symbol == END:
            break
        if symbol in (PAD, START):
            continue
        row = row[: len(words)]
        if symbol == UNKNOWN and row.size and row.max() > 0:
            word = words[int(row.argmax())]
            piece = translations.get(word, word)
        output.append(piece)
    return output


def _until_end(answer: Sequence[int]) -> list[int]:
    """Cut an answer after its END."""
    symbols = list(answer)
    return symbols[: symbols.index(END) + 1] if END in symbols else symbols
