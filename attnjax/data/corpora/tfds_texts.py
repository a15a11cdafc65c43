"""Labeled and raw text of tensorflow-datasets, without TensorFlow, see `corpora.tfds`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attnjax.data.corpora.labeled import Labeled
from attnjax.data.corpora.raw_text import TextStream
from attnjax.data.corpora.tfds import open_prepared, read_split
from attnjax.data.corpus import Example
from attnjax.data.vocabulary import split_at_spaces
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class LabeledTfds(Labeled):
    """Sentences and labels of a corpus of tensorflow-datasets.

    Attributes:
        name: the name of the corpus and its configuration in tensorflow-datasets, such as
            "imdb_reviews/plain_text", whose texts are its "text" and whose test split is "test".
        text: the feature that holds the text; label likewise.
        train: the training split, or a part of it: "train[:1000]".
        test: the test split; that of GLUE has no labels.
        folder: as `Translation.folder`.
    """

    name: str = "glue/sst2"
    text: str = "sentence"
    label: str = "label"
    train: str = "train"
    test: str = "validation"
    folder: str | None = None

    def split_name(self, split: str) -> str:
        # validation examples are held out of the training split
        return f"{self.name} {self.test if split == 'test' else self.train}"

    def read(self) -> tuple[list[Example], list[Example]]:
        builder = open_prepared(self.name, self.folder, {self.text: "text", self.label: "label"})
        return [*self._examples(builder, self.train)], [*self._examples(builder, self.test)]

    def _examples(self, builder: Any, split: str) -> Iterator[Example]:
        names = builder.info.features[self.label].names
        for number, row in enumerate(read_split(builder, split), start=1):
            label = int(row[self.label])
            if not 0 <= label < len(names):
                raise UserError(
                    f"example {number} of {self.name} {split} has the label {label}; labels are 0 "
                    f"to {len(names) - 1}, and the test splits of some corpora have none"
                )
            yield Example(" ".join(split_at_spaces(row[self.text].decode())), names[label])


@dataclass(frozen=True, kw_only=True)
class RawTfds(TextStream):
    """The texts of a corpus of tensorflow-datasets as a stream of symbols, a text a line.

    Attributes:
        name: the name of the corpus and its configuration in tensorflow-datasets.
        text: the feature that holds the text.
        train: the training split, or a part of it: "train[:1%]".
        valid: the validation split, or a part of one; None: there is none. `test` likewise.
        folder: as `Translation.folder`.
    """

    name: str = "lm1b"
    text: str = "text"
    train: str = "train[1%:]"
    valid: str | None = "train[:1%]"
    test: str | None = "test"
    folder: str | None = None

    def texts(self) -> dict[str, str]:
        builder = open_prepared(self.name, self.folder, {self.text: "text"})
        names = {"train": self.train, "valid": self.valid, "test": self.test}
        return {
            split: "".join(f"{row[self.text].decode()}\n" for row in read_split(builder, name))
            for split, name in names.items()
            if name is not None
        }
