"""Parallel text, in two kinds of files: one file for each side, or one with tabs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpora.slices import check_apart, sliced
from attnjax.data.corpus import Corpus, Example, build
from attnjax.data.files import Encoding, each_line, find_file, find_folder, parts
from attnjax.data.special_tokens import END
from attnjax.data.text_task import TextTask
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import SplitWords, Vocabulary, VocabularyPart
from attnjax.errors import UserError


def read_pairs(source: Path, target: Path, encoding: Encoding = "UTF-8") -> Iterator[Example]:
    """Read a file of sources and a file of targets; equal line numbers belong together."""
    sources, targets = each_line(source, encoding), each_line(target, encoding)
    for count, pair in enumerate(zip_longest(sources, targets)):
        if None in pair:
            more = count + 1 + sum(1 for _ in (targets if pair[0] is None else sources))
            first, second = (count, more) if pair[0] is None else (more, count)
            raise UserError(
                f"source and target must have equally many lines; {source} has {first:,}, "
                f"{target} has {second:,}"
            )
        yield Example(*pair)


def read_tab_separated(path: Path, encoding: Encoding = "UTF-8") -> Iterator[Example]:
    """Read a file whose lines are a source, a tab and a target."""
    for number, line in enumerate(each_line(path, encoding), start=1):
        fields = line.split("\t")
        if len(fields) != 2:
            raise UserError(
                f"{path}, line {number}, has {len(fields) - 1} tabs; a line is a source, one tab "
                "and a target"
            )
        yield Example(fields[0], fields[1])


@dataclass(frozen=True)
class SourceOrder(ABC):
    """The order in which a model reads a source's words."""

    @abstractmethod
    def __call__[S](self, symbols: list[S]) -> list[S]:
        """The symbols of a source, without END, in the order in which a model reads them."""


@dataclass(frozen=True)
class Forward(SourceOrder):
    """From the first word to the last."""

    def __call__[S](self, symbols: list[S]) -> list[S]:
        return symbols


@dataclass(frozen=True)
class Reversed(SourceOrder):
    """From the last word to the first, so that the first ones are close to their translation.

    Source: Sutskever et al. 2014, section 3.3.
    """

    def __call__[S](self, symbols: list[S]) -> list[S]:
        return symbols[::-1]


@dataclass(frozen=True, kw_only=True)
class ParallelCorpus(TextTask):
    """Pairs of texts, in up to three splits; scored by BLEU.

    No text is cut: an empty line is an empty sentence, and a word that the vocabulary lacks is
    UNKNOWN. `load` refuses a training split that shares examples with another split.

    Attributes:
        train: the name of the training split, or a part of a split: "train[4000:]".
        valid: the name of the validation split, or of a part; None: there is none.
        test: the name of the test split, or of a part; None: there is none.
        vocabulary: the vocabulary of the source, learned from train; also that of the target, and
            learned from both sides, if `target_vocabulary` is None.
        target_vocabulary: the vocabulary of the target; None: both sides share `vocabulary`.
        source_order: the order in which a model reads the source's words.
        max_length: the largest number of words of a training example on each side; longer examples
            are left out and counted in a note. The vocabulary decides what a word is. None: all
            examples are kept.
    """

    train: str = "train"
    valid: str | None = "valid"
    test: str | None = "test"
    vocabulary: VocabularyPart = SplitWords()
    target_vocabulary: VocabularyPart | None = None
    source_order: SourceOrder = Forward()
    max_length: PositiveInt | None = None

    @property
    def answers(self) -> Literal["text"]:
        return "text"

    @property
    def split_names(self) -> dict[str, str]:
        names = {"train": self.train, "valid": self.valid, "test": self.test}
        return {split: name for split, name in names.items() if name is not None}

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        check_apart(self.train, valid=self.valid, test=self.test)
        read = self.reader()
        splits = {split: [*read(name)] for split, name in self.split_names.items()}
        count = len(splits["train"])
        splits["train"] = [*filter(self.keeps, splits["train"])]
        notes = self.notes(len(splits["train"]), count)
        vocabularies = vocabularies or self.learn(splits["train"])
        return replace(build(splits, vocabularies, self.ids), notes=notes)

    def ids(self, text: str, vocabulary: Vocabulary) -> list[int]:
        return [*self.source_order(vocabulary.encode(text)), END]

    def words(self, text: str, vocabulary: Vocabulary) -> list[str]:
        return self.source_order(vocabulary.split(text))

    def keeps(self, example: Example) -> bool:
        if self.max_length is None:
            return True
        sides = self.vocabulary, self.target_vocabulary or self.vocabulary
        pairs = zip(sides, example[:2], strict=True)
        return all(len(side.words(text)) <= self.max_length for side, text in pairs)

    def notes(self, kept: int, count: int) -> tuple[str, ...]:
        if not kept:
            raise UserError(
                f"no training example has at most task.max_length={self.max_length} words a side"
            )
        if kept == count:
            return ()
        left_out = f"{count - kept:,} of {count:,} training examples"
        return (f"{left_out} are left out: a side has more than {self.max_length} words",)

    def learn(self, examples: Iterable[Example]) -> Vocabularies:
        if self.target_vocabulary is None:
            texts = (text for example in examples for text in example[:2])
            return joint(self.vocabulary.learn(texts))
        return Vocabularies(
            self.vocabulary.learn(example.source for example in examples),
            self.target_vocabulary.learn(example.target for example in examples),
        )


@dataclass(frozen=True, kw_only=True)
class ParallelText(ParallelCorpus):
    """Two files for each split, a sentence in each line: `train.en` and `train.de`.

    Each may be compressed, `train.en.gz`, or cut into shards, `train.en-00000-of-00003`.

    Attributes:
        folder: the folder of the files, as given, or else relative to the folder ATTNJAX_DATA.
        source: the suffix of the source files, which follows the name of the split.
        target: the suffix of the target files.
        test: the name of the test split.
        encoding: of the files.
    """

    folder: str = "multi30k-bpe"
    source: str = "en"
    target: str = "de"
    test: str | None = "test.2016"
    encoding: Encoding = "UTF-8"

    def reader(self) -> Callable[[str], Iterable[Example]]:
        folder = find_folder(self.folder)
        return sliced(
            lambda name: read_pairs(
                folder / f"{name}.{self.source}", folder / f"{name}.{self.target}", self.encoding
            )
        )

    def files(self, split: str) -> list[Path]:
        folder = find_folder(self.folder)
        sides = self.source, self.target
        return [part for side in sides for part in parts(folder / f"{split}.{side}")]


@dataclass(frozen=True, kw_only=True)
class TabSeparated(ParallelCorpus):
    """One file for each split, in each line a source, a tab and a target.

    It may be compressed, `train.tsv.gz`, or cut into shards, `train.tsv-00000-of-00003`.

    Attributes:
        folder: the folder of the files, as given, or else relative to the folder ATTNJAX_DATA.
        train: the name of the training file.
        valid: the name of the validation file; None: there is none.
        test: the name of the test file; None: there is none.
        encoding: of the files.
    """

    folder: str = "."
    train: str = "train.tsv"
    valid: str | None = "valid.tsv"
    test: str | None = "test.tsv"
    encoding: Encoding = "UTF-8"

    def reader(self) -> Callable[[str], Iterable[Example]]:
        return sliced(
            lambda name: read_tab_separated(find_file(Path(self.folder) / name), self.encoding)
        )

    def files(self, split: str) -> list[Path]:
        return parts(find_file(Path(self.folder) / split))
