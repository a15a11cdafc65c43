"""Parallel text in files: two files a split, or one with a tab in each line."""

import os
import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from attnjax.data.corpus import Corpus, Example, Task, build
from attnjax.data.source_order import Forward, SourceOrder
from attnjax.data.special_tokens import END
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import SplitWords, Vocabulary, VocabularyPart
from attnjax.errors import NoCorpus, UserError

VARIABLE = "ATTNJAX_DATA"

type Encoding = Literal["UTF-8", "Windows-1252"]
CODECS = {"UTF-8": "utf-8-sig", "Windows-1252": "cp1252"}


def find_folder(folder: str) -> Path:
    """The folder as it is given, or else under the one that ATTNJAX_DATA names.

    Raises:
        NoCorpus: it is in neither place.
    """
    given = Path(folder).expanduser()
    if given.is_dir():
        return given
    above = os.environ.get(VARIABLE)
    if not above:
        raise NoCorpus(
            f"there is no folder {given}; the environment variable {VARIABLE}, which may name "
            "the folder that holds it, is not set"
        )
    below = Path(above).expanduser() / given
    if below.is_dir():
        return below
    raise NoCorpus(f"there is no folder {given}, and none under {VARIABLE}={above}")


def read_lines(path: Path, encoding: Encoding = "UTF-8") -> list[str]:
    r"""The lines of a file; only "\n" and "\r\n" end a line.

    Raises:
        UserError: when the file is missing, is not in this encoding, or holds no text.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise UserError(f"there is no file {path}") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    try:
        text = content.decode(CODECS[encoding])
    except UnicodeDecodeError as error:
        # error.start counts from behind the byte order mark that "utf-8-sig" takes away
        before = error.object[: error.start]
        raise UserError(
            f"{encoding} was wanted; {path}, line {before.count(b'\n') + 1}, has the byte "
            f"0x{error.object[error.start]:02x} ({error.reason})"
        ) from error
    if not text.strip():
        raise UserError(f"text was wanted; {path} is empty")
    # not str.splitlines: it also splits at characters that occur within a line of a corpus
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_pairs(source: Path, target: Path) -> list[Example]:
    """The examples of two files, whose lines belong together.

    Raises:
        UserError: when their numbers of lines differ, and as `read_lines`.
    """
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        raise UserError(
            f"source and target must have as many lines; {source} has {len(sources):,}, "
            f"{target} has {len(targets):,}"
        )
    return [Example(*pair) for pair in zip(sources, targets, strict=True)]


def read_tab_separated(path: Path) -> list[Example]:
    """The examples of a file that has a source, a tab and a target in each line.

    Raises:
        UserError: when a line has not exactly one tab, and as `read_lines`.
    """
    examples = []
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) != 2:
            raise UserError(
                f"a source, one tab and a target were wanted; {path}, line {number}, has "
                f"{len(fields) - 1} tabs"
            )
        examples.append(Example(fields[0], fields[1]))
    return examples


PART = re.compile(r"(.+)\[(\d*):(\d*)\]")
"""A split's name and the places of its examples, as tensorflow-datasets writes them."""


def parts(read: Callable[[str], list[Example]]) -> Callable[[str], list[Example]]:
    """What reads "train" as `read` does, and of "train[4000:]" all but the first 4,000.

    Raises:
        UserError: such a part has no example, or is written in another way.
    """

    def read_part(name: str) -> list[Example]:
        asked = PART.fullmatch(name)
        if asked is None and name.endswith("]"):
            raise UserError(
                f"a part of a split is written train[4000:] or train[:4000]; got {name}"
            )
        if asked is None:
            return read(name)
        whole, *ends = asked.groups()
        examples = read(whole)
        found = examples[slice(*(int(end) if end else None for end in ends))]
        if not found:
            raise UserError(f"{name} holds nothing; {whole} has {len(examples):,} examples")
        return found

    return read_part


@dataclass(frozen=True, kw_only=True)
class ParallelCorpus(Task):
    """Texts that exist, in up to three splits; scored by BLEU.

    Nothing is cut: an empty line is an empty sentence, and what the vocabulary lacks is UNKNOWN.

    Attributes:
        train: the name of the training split, or a part of one: "train[4000:]", from place 4,000
            on.
        valid: of the validation split, likewise; None: there is none.
        test: of the test split, likewise; None: there is none.
        vocabulary: learned from the source and the target of train together.
        target_vocabulary: learned from the target of train, and `vocabulary` from the source
            alone; None: they share one.
        order: in which the source is read.
        longest: training examples of which a side has more words are left out; None: none is.
    """

    train: str = "train"
    valid: str | None = "valid"
    test: str | None = "test"
    vocabulary: VocabularyPart = SplitWords()
    target_vocabulary: VocabularyPart | None = None
    order: SourceOrder = Forward()
    longest: int | None = None

    @property
    def metric(self) -> Literal["bleu"]:
        return "bleu"

    @abstractmethod
    def reader(self) -> Callable[[str], list[Example]]:
        """Find the corpus; returns what reads a split of it by name.

        Raises:
            UserError: on data that is missing or not as it should be.
        """

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        examples = self.reader()
        names = {"train": self.train, "valid": self.valid, "test": self.test}
        splits = {split: examples(name) for split, name in names.items() if name is not None}
        splits["train"] = self._short(splits["train"])
        return build(splits, vocabularies or self._learn(splits["train"]), self.ids)

    def ids(self, text: str, vocabulary: Vocabulary) -> list[int]:
        return [*self.order(vocabulary.encode(text)), END]

    def words(self, text: str, vocabulary: Vocabulary) -> list[str]:
        return self.order(vocabulary.split(text))

    def _short(self, examples: list[Example]) -> list[Example]:
        """The examples whose sides have at most so many words, split at white space."""
        if self.longest is None:
            return examples
        short = [one for one in examples if max(len(t.split()) for t in one[:2]) <= self.longest]
        if not short:
            raise UserError(f"no training example has at most task.longest={self.longest} words")
        return short

    def _learn(self, examples: list[Example]) -> Vocabularies:
        if self.target_vocabulary is None:
            texts = (text for example in examples for text in example[:2])
            return joint(self.vocabulary.learn(texts))
        return Vocabularies(
            self.vocabulary.learn(example.source for example in examples),
            self.target_vocabulary.learn(example.target for example in examples),
        )


@dataclass(frozen=True, kw_only=True)
class ParallelText(ParallelCorpus):
    """Two UTF-8 files a split, a sentence a line: `train.en` and `train.de`.

    Attributes:
        folder: as it is, or under the folder that the environment variable ATTNJAX_DATA names.
        source: the suffix of the source's files; a split's name stands before it.
        target: the suffix of the target's files.
        test: the name of the test split.
    """

    folder: str = "multi30k-bpe"
    source: str = "en"
    target: str = "de"
    test: str | None = "test.2016"

    def reader(self) -> Callable[[str], list[Example]]:
        folder = find_folder(self.folder)
        return parts(
            lambda name: read_pairs(
                folder / f"{name}.{self.source}", folder / f"{name}.{self.target}"
            )
        )


@dataclass(frozen=True, kw_only=True)
class TabSeparated(ParallelCorpus):
    """One UTF-8 file a split, in each line a source, a tab and a target.

    Attributes:
        folder: as it is, or under the folder that the environment variable ATTNJAX_DATA names.
        train: the name of the training file; `valid` and `test` likewise.
    """

    folder: str = "."
    train: str = "train.tsv"
    valid: str | None = "valid.tsv"
    test: str | None = "test.tsv"

    def reader(self) -> Callable[[str], list[Example]]:
        folder = find_folder(self.folder)
        return parts(lambda name: read_tab_separated(folder / name))
