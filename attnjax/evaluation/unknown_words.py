"""Unknown words in answers, replaced by what stands where the attention looks.

A vocabulary of the most frequent words answers UNKNOWN where another is wanted. The source word
behind it is the one with the largest weight, in one pass over the finished answer.

Source: Jean et al. 2015; the "unk replace" of Luong, Pham & Manning 2015, Table 1.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnjax.data.batching import Batching
from attnjax.data.corpora.parallel_text import read_tab_separated
from attnjax.data.corpus import Corpus, Encoded
from attnjax.data.files import find_file
from attnjax.data.sentencepiece import SentencePieceVocabulary
from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.data.vocabulary import Vocabulary
from attnjax.errors import UserError
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.measures.alignment import alignments, check_shown
from attnjax.evaluation.metric import Metric
from attnjax.models.base import Model


def before_replacement(metric: Metric) -> MetricKey:
    """The key of the metric of answers whose unknown words are left in."""
    return MetricKey(f"{metric.name}_before_replacement")


@dataclass(frozen=True, kw_only=True)
class Replacement(ABC):
    """What takes an unknown word's place. A part: subclasses are chosen on the command line."""

    @abstractmethod
    def translations(self) -> Mapping[str, str]:
        """Of source words; a word that has none is copied.

        Raises:
            UserError: they cannot be read.
        """

    def check(self, model: Model, corpus: Corpus) -> None:
        """Refuse, before anything is trained, what cannot be replaced so.

        Raises:
            UserError: a side is no text or is split by sentencepiece, the model attends to no
                source, or as `translations`.
        """
        for vocabulary in corpus.vocabularies:
            if vocabulary is None or isinstance(vocabulary, SentencePieceVocabulary):
                raise UserError(
                    f"{type(self).__name__} copies words from text to text; a side of this task "
                    "is no text, or sentencepieces, which spell unknown words themselves"
                )
        self.translations()
        check_shown(model, corpus.splits["train"][0])


@dataclass(frozen=True, kw_only=True)
class CopyUnknown(Replacement):
    """The source word itself: right for names and numbers."""

    def translations(self) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True, kw_only=True)
class Dictionary(Replacement):
    """The source word's translation by a dictionary, or the word itself where that has none.

    Attributes:
        file: in each line a source word, a tab and its translation; of two lines for a word the
            first counts. As it is, or under the folder that ATTNJAX_DATA names.
    """

    file: str

    def translations(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for example in read_tab_separated(find_file(self.file)):
            found.setdefault(example.source, example.target)
        return found


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
    """Answers as text, without the unknown words that the attention finds a source word for.

    Only answers with an unknown word take a pass.

    Args:
        model: with its vocabularies' sizes.
        params: its parameters.
        words: of each source, as its text has them, in the order in which the model reads them.
        sources: the same as ids, ended by END.
        answers: ids, ended by END.
        vocabulary: of the answers.
        replacement: what takes an unknown word's place.
        batching: how many places a batch may have; more, if one sentence needs them.

    Raises:
        UserError: the model attends to no source.
        ValueError: a source has another number of words than of ids.
    """
    translations = replacement.translations()
    texts = [vocabulary.decode(answer) for answer in answers]
    asked = [number for number, answer in enumerate(answers) if UNKNOWN in _until_end(answer)]
    if not asked:
        return texts
    given = [_until_end(answers[number]) for number in asked]
    examples = [Encoded(sources[n], answer) for n, answer in zip(asked, given, strict=True)]
    batching = batching.with_room(examples, shapes=1)
    for index, weights in alignments(model, params, examples, batching):
        number, answer = asked[index], given[index]
        if len(words[number]) != len(sources[number]) - 1:
            raise ValueError(
                f"a word for each of {len(sources[number]) - 1} source symbols was wanted; "
                f"got {len(words[number])}"
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
    """The pieces of an answer, each UNKNOWN replaced where a source word stands behind it.

        piece[t] = translation of word[j],   j = argmax over words of weights[t, j]

    The source's END is no word: where it has the largest weight, the next largest counts. Where no
    word has any weight, the piece stays.

    Args:
        answer: ids [T]; what comes from END on, PAD and START are left out.
        pieces: the spelling of each.
        words: of the source [S].
        weights: [>= T, >= S]; columns beyond the words are END and padding.
        translations: of source words; a word that has none is copied.
    """
    found = []
    for symbol, piece, row in zip(answer, pieces, weights, strict=False):
        if symbol == END:
            break
        if symbol in (PAD, START):
            continue
        row = row[: len(words)]
        if symbol == UNKNOWN and row.size and row.max() > 0:
            word = words[int(row.argmax())]
            piece = translations.get(word, word)
        found.append(piece)
    return found


def _until_end(answer: Sequence[int]) -> list[int]:
    """An answer up to its END, which is its last symbol; without PAD after it."""
    symbols = list(answer)
    return symbols[: symbols.index(END) + 1] if END in symbols else symbols
