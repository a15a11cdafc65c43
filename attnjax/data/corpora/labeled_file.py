"""Labeled text in CSV and TSV files of one's own."""

import csv
import io
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from attnjax.data.corpora.labeled import Labeled
from attnjax.data.corpora.slices import check_apart, sliced
from attnjax.data.corpus import Corpus, Example
from attnjax.data.files import Encoding, find_file, read_text
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SPACES
from attnjax.errors import UserError
from attnjax.files import in_a_line

DELIMITERS = {".csv": ",", ".tsv": "\t"}

LONGEST = 2**31 - 1
"""The most letters of a field; the csv module's own limit is 131,072."""


class _Row(NamedTuple):
    """The fields of a row, which spans these lines of its file."""

    fields: list[str]
    first: int
    last: int


class _Table(NamedTuple):
    """The examples of a file, and the number of its rows; `broken` are those of several lines."""

    examples: list[Example]
    rows: int
    broken: list[_Row]


_PARSED: ContextVar[dict[str, _Table]] = ContextVar("parsed")
"""The tables that `read` has parsed while a corpus is loaded, by the names of their files: `load`
describes them and need not parse them again, and a subclass may have a `read` of its own."""


@dataclass(frozen=True, kw_only=True)
class LabeledFile(Labeled):
    r"""Sentences and labels in files, one example per row: `.csv` (commas) or `.tsv` (tabs).

    Fields may be quoted: `"late, again",very bad` has the text `late, again` and the label `very
    bad`. A line break within quotes becomes a space; rows that have one are counted in a note.
    Empty lines are skipped, and spaces around text and label are removed. A file may be compressed,
    `train.csv.gz`, or cut into shards.

    Attributes:
        folder: of the files; looked for as it is, then under ATTNJAX_DATA.
        train: the training file, or a part of it: "reviews.csv[:900]".
        test: the test file, or a part of it, which must not overlap a part of the same file in
            train. Equal sentences in both are counted before training.
        text: the column of the text: its name in the first row; or its number, counted from 1, if
            the file has no row of names.
        label: the column of the label, given in the same way.
        delimiter: between the fields of a row, such as ";"; None: by the end of the file's name.
        quote: around a field that has delimiters in it; "": a quote is a letter like others. None:
            the quotation mark, but between tabs it may not hold a line break, since in texts that
            are split into lines a quotation may begin in one and end in another.
    """

    folder: str = "."
    train: str = "train.csv"
    test: str = "test.csv"
    text: int | str = "text"
    label: int | str = "label"
    delimiter: str | None = None
    quote: Literal['"', ""] | None = None
    encoding: Encoding = "UTF-8"

    def __post_init__(self) -> None:
        if type(self.text) is not type(self.label) or self.text == self.label:
            raise UserError(
                "task.text and task.label must be two names, or two numbers, of columns; "
                f"got {self.text!r} and {self.label!r}"
            )
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '\r\n"'):
            raise UserError(f"task.delimiter must be one character, got {self.delimiter!r}")

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        tables: dict[str, _Table] = {}
        token = _PARSED.set(tables)
        try:
            corpus = super().load(vocabularies)
        finally:
            _PARSED.reset(token)
        notes = (_note(name, table) for name, table in tables.items() if table.broken)
        return replace(corpus, notes=(*corpus.notes, *notes))

    def read(self) -> tuple[list[Example], list[Example]]:
        check_apart(self.train, test=self.test)
        tables = _PARSED.get({})

        def examples(name: str) -> list[Example]:
            if name not in tables:
                tables[name] = self._table(Path(self.folder) / name)
            return tables[name].examples

        read = sliced(examples)
        return [*read(self.train)], [*read(self.test)]

    def _table(self, path: Path) -> _Table:
        examples, broken, columns, count, width = [], [], None, 0, 0
        for count, row in enumerate(self._rows(path), start=1):  # noqa: B007, the last is returned
            if row.last > row.first:
                broken.append(row)
            where = f"{path}, line {row.first}"
            if columns is None:
                columns, width = self._columns(row.fields, where), len(row.fields)
                if isinstance(self.text, str):
                    continue
            if len(row.fields) != width:
                raise UserError(f"{where}, has {len(row.fields)} fields; the first row has {width}")
            # other line ends and spaces of Unicode are letters, as in a text that is asked for
            text, label = (in_a_line(row.fields[column]).strip(SPACES) for column in columns)
            if not label:
                raise UserError(f"{where}, has no label (task.label={self.label!r})")
            examples.append(Example(text, label))
        if not examples:
            raise UserError(f"{path} has no rows below the names of the columns")
        return _Table(examples, count, broken)

    def _rows(self, path: Path) -> Iterator[_Row]:
        """Yield the rows of a file, the row of names included; empty lines are skipped."""
        delimiter = self.delimiter or DELIMITERS.get(path.name.removesuffix(".gz")[-4:])
        if delimiter is None:
            raise UserError(f"the name of {path} must end in .csv or .tsv, or give task.delimiter")
        path = find_file(path)
        lines = io.StringIO(read_text(path, self.encoding), newline="")
        quoting = csv.QUOTE_NONE if self.quote == "" else csv.QUOTE_MINIMAL
        in_a_line = delimiter == "\t" and self.quote is None
        csv.field_size_limit(LONGEST)
        rows, first = (
            csv.reader(
                lines, delimiter=delimiter, quoting=quoting, strict=True, skipinitialspace=True
            ),
            1,
        )
        try:
            for fields in rows:
                if in_a_line and rows.line_num > first:
                    raise UserError(
                        f"{path}, line {first}, has a quote that ends in line {rows.line_num}: "
                        "with task.quote='' a quote is a letter, with task.quote='\"' a field may "
                        "have several lines"
                    )
                if fields:
                    yield _Row(fields, first, rows.line_num)
                first = rows.line_num + 1
        except csv.Error as error:
            hint = "" if self.quote == "" else "; with task.quote='' a quote is a letter"
            raise UserError(f"{path}, line {first}, is malformed: {error}{hint}") from error

    def _columns(self, row: list[str], where: str) -> list[int]:
        """Find the indices of the text's and the label's columns in the first row."""
        indices = []
        for field, column in (("text", self.text), ("label", self.label)):
            numbers = isinstance(column, int)
            names: list[Any] = [*range(1, len(row) + 1)] if numbers else [*map(str.strip, row)]
            if names.count(column) != 1:
                raise UserError(
                    f"exactly one column must be task.{field}={column!r}; {where}, has the columns "
                    f"{', '.join(map(str, names))}"
                )
            indices.append(names.index(column))
        return indices


def _note(file: str, table: _Table) -> str:
    """Describe the rows of several lines: a missing quote joins the texts of several rows."""
    longest = max(table.broken, key=lambda row: row.last - row.first)
    return (
        f"{len(table.broken):,} of {table.rows:,} rows of {file} have a quoted field of several "
        f"lines, as in lines {longest.first:,} to {longest.last:,}; with task.quote='' a quote is "
        "a letter"
    )
