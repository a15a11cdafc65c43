"""Sentences without answers, and pairs of sentences, for training masked language models."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.data.corpora.held_out import hold_out
from attnjax.data.corpora.labeled import Labeled
from attnjax.data.corpus import Corpus, Example, Task, build, ids
from attnjax.data.files import Encoding, find_file, read_lines
from attnjax.data.special_tokens import END
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import (
    SPECIAL,
    LabelVocabulary,
    SplitWords,
    Vocabulary,
    VocabularyPart,
    split_at_spaces,
)
from attnjax.errors import UserError

SEPARATOR = "\t"
"""Separates the two sentences of a source as text; as ids END does."""

NEXT, OTHER = "next", "other"


def training_sources(tasks: Iterable[Task]) -> list[str]:
    """Load the training sources of several tasks; a pair of sentences counts as two texts."""
    sentences = []
    for task in tasks:
        sources = task.load().sources.get("train")
        if not sources:
            raise UserError(f"the sources of the task {task} are not text")
        sentences += [sentence for source in sources for sentence in source.split(SEPARATOR)]
    return sentences


@dataclass(frozen=True, kw_only=True)
class LearnedFrom(VocabularyPart):
    """A vocabulary learned from the training sources of given tasks instead of this task's.

    Several tasks can share such a vocabulary, so that parameters trained on one fit the others.
    """

    vocabulary: VocabularyPart = SplitWords()
    tasks: tuple[Task, ...]

    def words(self, text: str) -> list[str]:
        return self.vocabulary.words(text)

    def learn(self, texts: Iterable[str]) -> Vocabulary:
        del texts
        return self.vocabulary.learn(training_sources(self.tasks))


@dataclass(frozen=True, kw_only=True)
class Unlabeled(Task):
    """The training sources of other tasks, without their answers: each sentence an example.

    Nothing is decoded: a measure such as `MaskedWords` gives the results.

    Attributes:
        tasks: those whose sources are taken.
        valid: the number of sentences held out for validation; `test` likewise.
        seed: the seed of the draw; equal seeds give equal splits.
        vocabulary: of the words.
    """

    tasks: tuple[Task, ...]
    valid: PositiveInt = 500
    test: PositiveInt = 500
    seed: NonNegativeInt = 0
    vocabulary: VocabularyPart = SplitWords()

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        whole = [Example(text, "") for text in training_sources(self.tasks)]
        counts = {"valid": self.valid, "test": self.test}
        held_out, train = hold_out(whole, "sentences", self.seed, **counts)
        test, valid = hold_out(held_out, "sentences", self.seed, test=self.test)
        if vocabularies is None:
            learned = self.vocabulary.learn(example.source for example in train)
            vocabularies = Vocabularies(learned, None)
        return build({"train": train, "valid": valid, "test": test}, vocabularies, self.ids)


@dataclass(frozen=True, kw_only=True)
class PairLabels(VocabularyPart):
    """The two labels of a pair, always in the same order."""

    def learn(self, texts: Iterable[str]) -> LabelVocabulary:
        del texts
        return LabelVocabulary((*SPECIAL, NEXT, OTHER))


@dataclass(frozen=True, kw_only=True)
class SentencePairs(Labeled):
    """Two sentences of a text, and whether the second is the next one: "next" or "other".

    Every line of a file that has a line after it is a first sentence. The second is that line, or
    with probability 1/2 a random line of all files; an empty line ends a document. As text the two
    are separated by a tab, as ids END follows each.

    Attributes:
        files: of text, a sentence a line; looked for as they are, then under ATTNJAX_DATA.
        test: the number of pairs held out as the test split.

    Source: Devlin et al. 2019, section 3.1, task 2. There the "sentences" are longer spans of text.
    """

    files: tuple[str, ...]
    test: PositiveInt = 500
    encoding: Encoding = "UTF-8"
    target_vocabulary: ClassVar[VocabularyPart] = PairLabels()

    def read(self) -> tuple[list[Example], list[Example]]:
        documents = [read_lines(find_file(file), self.encoding) for file in self.files]
        lines = [line for document in documents for line in document if line.strip()]
        draw = np.random.default_rng(self.seed)
        pairs = []
        for document in documents:
            for first, second in pairwise(document):
                if not (first.strip() and second.strip()):
                    continue
                label = NEXT if draw.random() < 0.5 else OTHER
                if label == OTHER:
                    second = lines[draw.integers(len(lines))]
                both = (" ".join(split_at_spaces(sentence)) for sentence in (first, second))
                pairs.append(Example(SEPARATOR.join(both), label))
        test, rest = hold_out(pairs, "pairs of lines", self.seed, test=self.test)
        return rest, test

    def ids(self, text: str, vocabulary: Vocabulary) -> list[int]:
        """Encode one or two sentences, each followed by END."""
        sentences = text.split(SEPARATOR)
        return [symbol for sentence in sentences for symbol in ids(sentence, vocabulary)]

    def words(self, text: str, vocabulary: Vocabulary) -> list[str]:
        """Return the words of both sentences, and the spelling of END between them."""
        first, *others = map(vocabulary.split, text.split(SEPARATOR))
        return first + [word for other in others for word in (SPECIAL[END], *other)]
