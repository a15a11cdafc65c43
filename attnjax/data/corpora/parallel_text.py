"""Parallel text: a file for each side, or one with a pair in each line, by tabs or as JSON."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from attnjax.config.constraints import PositiveInt, check_fields
from attnjax.config.serialize import parse_json
from attnjax.data.corpora.slices import check_apart, sliced
from attnjax.data.corpus import Corpus, Example, build
from attnjax.data.files import Encoding, each_line, find_file, find_folder, parse_lines, parts
from attnjax.data.preparation import is_prepared, prepared
from attnjax.data.text_task import SourceOrder, TextTask
from attnjax.data.vocabularies import Vocabularies
from attnjax.errors import UserError

MARKUP = re.compile(r"\ufeff?\s*<(\?xml|!DOCTYPE|srcset|refset|tstset|mteval)\b", re.IGNORECASE)
"""How the files begin that WMT and mteval have their sentences in."""

SEGMENTS = r"sed -n 's/.*<seg[^>]*> *\(.*\)<\/seg>.*/\1/p'"
"""The command that prints their sentences."""


def read_pairs(source: Path, target: Path, encoding: Encoding = "UTF-8") -> Iterator[Example]:
    """Read a file of sources and a file of targets; equal line numbers belong together."""
    sides = each_line(source, encoding), each_line(target, encoding)
    for number, pair in enumerate(zip_longest(*sides)):
        for path, line in zip((source, target), pair, strict=True):
            if number == 0 and line is not None and MARKUP.match(line):
                raise UserError(
                    f"{path} is SGML or XML, whose tags would be read as words; wanted a sentence "
                    f"in each line, such as {SEGMENTS} FILE prints"
                )
        if None in pair:
            # count what is left of the longer side: a pipe cannot be read again
            first, second = (
                number + (line is not None) + sum(1 for _ in side)
                for line, side in zip(pair, sides, strict=True)
            )
            raise UserError(
                f"source and target must have equally many lines; {source} has {first:,}, "
                f"{target} has {second:,}"
            )
        yield Example(*pair)


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
    """Pairs of texts, in memory or, if there are many, in a prepared corpus.

    `load` refuses a training split that shares examples with another split.
    """

    source_order: SourceOrder = Forward()

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        check_apart(self.train, valid=self.valid, test=self.test)
        if is_prepared(self):
            return prepared(self, vocabularies)
        read = self.reader()
        splits = {split: [*read(name)] for split, name in self.split_names.items()}
        count = len(splits["train"])
        splits["train"] = [*filter(self.keeps, splits["train"])]
        notes = self.notes(len(splits["train"]), count)
        vocabularies = vocabularies or self.learn(lambda: splits["train"])
        return replace(build(splits, vocabularies, self.ids), notes=notes)


@dataclass(frozen=True, kw_only=True)
class ParallelText(ParallelCorpus):
    """Two files for each split, a sentence in each line: `train.en` and `train.de`.

    Each may be compressed, `train.en.gz`, or cut into shards, `train.en-00000-of-00003`.

    Attributes:
        folder: of the files; looked for as it is, then under ATTNJAX_DATA.
        source: the suffix of the source files, which follows the name of the split.
        target: the suffix of the target files.
    """

    folder: str = "multi30k-bpe"
    source: str = "en"
    target: str = "de"
    encoding: Encoding = "UTF-8"

    def split_name(self, split: str) -> str:
        return f"{self.folder}/{super().split_name(split)}"

    def reader(self) -> Callable[[str], Iterable[Example]]:
        find_folder(self.folder)  # refused here, not once a split is read
        return sliced(lambda name: read_pairs(*self._sides(name), self.encoding))

    def files(self, split: str) -> list[Path]:
        return [part for side in self._sides(split) for part in parts(side)]

    def _sides(self, split: str) -> tuple[Path, Path]:
        folder = find_folder(self.folder)
        return folder / f"{split}.{self.source}", folder / f"{split}.{self.target}"


@dataclass(frozen=True, kw_only=True)
class PairsInLines(ParallelCorpus):
    """One file for each split, a pair in each line; compressed or in shards as `ParallelText`.

    Attributes:
        folder: of the files; looked for as it is, then under ATTNJAX_DATA.
    """

    folder: str = "."
    encoding: Encoding = "UTF-8"

    @abstractmethod
    def pair(self, line: str) -> Example:
        """Parse the pair in a line.

        Raises:
            ValueError: the line is malformed; its message follows "line 3 ".
        """

    def reader(self) -> Callable[[str], Iterable[Example]]:
        def read(split: str) -> Iterator[Example]:
            return parse_lines(find_file(Path(self.folder) / split), self.pair, self.encoding)

        return sliced(read)

    def files(self, split: str) -> list[Path]:
        return parts(find_file(Path(self.folder) / split))


@dataclass(frozen=True, kw_only=True)
class TabSeparated(PairsInLines):
    """One file for each split, in each line a source, a tab and a target.

    A quotation mark is a letter like others.

    Attributes:
        columns: the number of columns between tabs; the pairs of Tatoeba, as manythings.org has
            them, have a third one, which says who wrote them.
        source: the source's column, counted from 1; target likewise.
    """

    train: str = "train.tsv"
    valid: str | None = "valid.tsv"
    test: str | None = "test.tsv"
    columns: PositiveInt = 2
    source: PositiveInt = 1
    target: PositiveInt = 2

    def __post_init__(self) -> None:
        check_fields(self, "task")
        if self.source == self.target or max(self.source, self.target) > self.columns:
            raise UserError(
                f"task.source and task.target must be two of task.columns={self.columns} columns; "
                f"got {self.source} and {self.target}"
            )

    def pair(self, line: str) -> Example:
        fields = line.split("\t")
        if len(fields) != self.columns:
            raise ValueError(
                f"has {len(fields)} columns between tabs; wanted columns={self.columns}, the "
                f"source in column {self.source}, the target in {self.target}"
            )
        return Example(fields[self.source - 1], fields[self.target - 1])


@dataclass(frozen=True, kw_only=True)
class JsonLines(PairsInLines):
    """One file for each split, in each line a JSON object: {"en": "a dog", "de": "ein Hund"}.

    `source` and `target` are the keys of the texts; of {"translation": {"en": "a dog", ...}} the
    key is "translation.en".
    """

    source: str = "en"
    target: str = "de"
    train: str = "train.jsonl"
    valid: str | None = "valid.jsonl"
    test: str | None = "test.jsonl"

    def pair(self, line: str) -> Example:
        try:
            content = parse_json(line)
            source, target = (_at(content, key) for key in (self.source, self.target))
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise ValueError(f"has half a character, {half}: a text was cut there") from error
        except (KeyError, TypeError, ValueError):
            source = target = None
        if not (isinstance(source, str) and isinstance(target, str)):
            raise ValueError(
                f"is {line[:60]!r}; a line is a JSON object with a text for each of the keys "
                f"{self.source!r} and {self.target!r} (task.source, task.target)"
            )
        return Example(source, target)


def _at(content: Any, key: str) -> Any:
    """Return the value at a key of a JSON object, or at keys of objects in objects, by dots."""
    if key in content or "." not in key:
        return content[key]
    first, _, rest = key.partition(".")
    return _at(content[first], rest)
