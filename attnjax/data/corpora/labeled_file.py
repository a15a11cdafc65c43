"""Labeled text in CSV and TSV files of one's own."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from attnjax.data.corpora.labeled import Labeled
from attnjax.data.corpora.slices import check_apart, sliced
from attnjax.data.corpus import Example
from attnjax.data.files import Encoding, find_file, read_text
from attnjax.errors import UserError

DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, kw_only=True)
class LabeledFile(Labeled):
    r"""Sentences and labels in files, one example per row: `.csv` (commas) or `.tsv` (tabs).

    Fields may be quoted: `"late, again",very bad` has the text `late, again` and the label `very
    bad`. Empty lines are skipped, and spaces around text and label are removed. A file may be
    compressed, `train.csv.gz`, or cut into shards.

    Attributes:
        folder: of the files; looked for as it is, then under ATTNJAX_DATA.
        train: the training file, or a part of it: "reviews.csv[:900]".
        test: the test file, or a part of it, which must not overlap a part of the same file in
            train. Equal sentences in both are counted before training.
        text: the column of the text: its name in the first row; or its number, counted from 1, if
            the file has no row of names.
        label: the column of the label, given in the same way.
        delimiter: between the fields of a row, such as ";"; None: by the end of the file's name.
        quote: around a field that has delimiters in it; "": a quote is a letter like others.
    """

    folder: str = "."
    train: str = "train.csv"
    test: str = "test.csv"
    text: int | str = "text"
    label: int | str = "label"
    delimiter: str | None = None
    quote: Literal['"', ""] = '"'
    encoding: Encoding = "UTF-8"

    def __post_init__(self) -> None:
        if type(self.text) is not type(self.label) or self.text == self.label:
            raise UserError(
                "task.text and task.label must be two names, or two numbers, of columns; "
                f"got {self.text!r} and {self.label!r}"
            )
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '\r\n"'):
            raise UserError(f"task.delimiter must be one character, got {self.delimiter!r}")

    def read(self) -> tuple[list[Example], list[Example]]:
        check_apart(self.train, test=self.test)
        read = sliced(lambda name: self._examples(Path(self.folder) / name))
        return [*read(self.train)], [*read(self.test)]

    def _examples(self, path: Path) -> list[Example]:
        delimiter = self.delimiter or DELIMITERS.get(path.name.removesuffix(".gz")[-4:])
        if delimiter is None:
            raise UserError(f"the name of {path} must end in .csv or .tsv, or give task.delimiter")
        path = find_file(path)
        lines = io.StringIO(read_text(path, self.encoding), newline="")
        quoting = csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE
        rows = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
        examples = []
        columns, width = None, 0
        try:
            for row in filter(None, rows):
                where = f"{path}, line {rows.line_num}"
                if columns is None:
                    columns, width = self._columns(row, where), len(row)
                    if isinstance(self.text, str):
                        continue
                if len(row) != width:
                    raise UserError(f"{where}, has {len(row)} fields; the first row has {width}")
                text, label = (row[column].strip() for column in columns)
                if not label:
                    raise UserError(f"{where}, has no label (task.label={self.label!r})")
                # a line break within quotes becomes a space: a sentence is one line
                examples.append(Example(" ".join(text.splitlines()), label))
        except csv.Error as error:
            hint = "; with task.quote='' a quote is a letter" if self.quote else ""
            raise UserError(f"{path}, line {rows.line_num}, is malformed: {error}{hint}") from error
        if not examples:
            raise UserError(f"{path} has no rows below the names of the columns")
        return examples

    def _columns(self, row: list[str], where: str) -> list[int]:
        """The indices of the text's and the label's columns, from the first row."""
        places = []
        for field, column in (("text", self.text), ("label", self.label)):
            numbers = isinstance(column, int)
            names: list[Any] = [*range(1, len(row) + 1)] if numbers else [*map(str.strip, row)]
            if names.count(column) != 1:
                raise UserError(
                    f"exactly one column must be task.{field}={column!r}; {where}, has the columns "
                    f"{', '.join(map(str, names))}"
                )
            places.append(names.index(column))
        return places
