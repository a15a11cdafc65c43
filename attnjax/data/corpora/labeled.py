"""Labeled text: sentences, each of one of a few classes.

The target is one symbol, the label, without END. The target's vocabulary has only the labels, so
that exact match is accuracy. The model is `models.classifier`, the search `Label`.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from attnjax.config.constraints import NonNegativeInt
from attnjax.data.corpora.held_out import WithHeldOut
from attnjax.data.corpus import Corpus, Example
from attnjax.data.files import find_folder, parse_lines, read_lines
from attnjax.data.special_tokens import UNKNOWN
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import Labels, VocabularyPart
from attnjax.errors import UserError

FOLDS = 10


@dataclass(frozen=True, kw_only=True)
class Labeled(WithHeldOut):
    """Sentences and their labels; a label may have several words."""

    target_vocabulary: ClassVar[VocabularyPart] = Labels()

    def encoded(
        self, whole: list[Example], test: list[Example], vocabularies: Vocabularies | None
    ) -> Corpus:
        corpus = super().encoded(whole, test, vocabularies)
        splits, notes = {}, []
        for name, examples in corpus.splits.items():
            targets = examples.target.head(1)
            splits[name] = replace(examples, target=targets)
            pairs = zip(corpus.references[name], targets, strict=True)
            unknown = Counter(label for label, target in pairs if target == [UNKNOWN])
            notes += [
                f"{count} of {len(examples):,} {name} examples have the label {label!r}, which no "
                "training example has: their answers count as wrong"
                for label, count in unknown.items()
            ]
        return replace(corpus, splits=splits, notes=tuple(notes))


@dataclass(frozen=True, kw_only=True)
class Trec(Labeled):
    """Questions, and the kind of answer that each asks for.

    A line of its UTF-8 files is a label, a space and the question. The labels are 0 to 5: a
    description, an entity, an abbreviation, a human, a location, a number.

    Attributes:
        folder: of `train.txt` and `test.txt`; looked for as it is, then under ATTNJAX_DATA.

    Source: Li & Roth 2002, coarse classes; github.com/harvardnlp/sent-conv-torch, whose
        `TREC.train.all` is `train.txt` here, `TREC.test.all` `test.txt`.
    """

    folder: str = "trec"

    def read(self) -> tuple[list[Example], list[Example]]:
        folder = find_folder(self.folder)
        train, test = (parse_lines(folder / name, _question) for name in ("train.txt", "test.txt"))
        return [*train], [*test]


def _question(line: str) -> Example:
    if not re.match("[0-5] ", line):
        raise ValueError(f"is {line[:60]!r}; a line is a label from 0 to 5, a space and a sentence")
    return Example(line[2:], line[0])


@dataclass(frozen=True, kw_only=True)
class MovieReviews(Labeled):
    """Sentences of film reviews, negative or positive.

    The sentences are dealt out to ten folds, one of which is the test split; a cross-validation
    runs all ten.

    Attributes:
        folder: of `rt-polarity.neg` and `rt-polarity.pos` (Windows-1252); looked for as it is, then
            under ATTNJAX_DATA.
        fold: the fold to test on, 0 to 9.

    Source: Pang & Lee 2005; the folds are not those of any paper, which drew their own.
    """

    folder: str = "mr"
    fold: NonNegativeInt = 0

    def read(self) -> tuple[list[Example], list[Example]]:
        if not 0 <= self.fold < FOLDS:
            raise UserError(f"task.fold must be from 0 to {FOLDS - 1}, got {self.fold}")
        folder = find_folder(self.folder)
        train, test = [], []
        for suffix, label in (("neg", "negative"), ("pos", "positive")):
            lines = read_lines(folder / f"rt-polarity.{suffix}", "Windows-1252")
            folds = deal(len(lines), self.seed)
            for line, fold in zip(lines, folds, strict=True):
                (test if fold == self.fold else train).append(Example(line, label))
        return train, test


def deal(count: int, seed: int) -> list[int]:
    """Return the fold of each of `count` sentences; the sizes of folds differ by at most one."""
    return (np.random.default_rng(seed).permutation(count) % FOLDS).tolist()
