"""Raw text, cut into windows: the task of a language model."""

import io
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Lt

from attnjax.config.constraints import PositiveInt, check_fields
from attnjax.data.corpus import Corpus, Task
from attnjax.data.examples import Examples, Rows
from attnjax.data.files import Encoding, find_file, read_text
from attnjax.data.special_tokens import START, UNKNOWN
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import Characters, Vocabulary, VocabularyPart
from attnjax.errors import UserError

type Fraction = Annotated[float, Ge(0), Lt(1)]


@dataclass(frozen=True, kw_only=True)
class TextStream(Task):
    """A text as a stream of symbols, each predicted from the symbols before it.

    The vocabulary is learned from the training split. Every split is cut into windows of `length`
    symbols, the last one shorter. A window's target is its symbols; its source is the one symbol
    before them, START at the beginning of the text. No text is ended by END. Nothing is decoded: a
    measure such as `Perplexity` gives the results.

    Attributes:
        vocabulary: what a symbol is, for source and target.
        length: the most symbols that a model reads at once.
        stride: the length of a target in validation and test, each symbol of which is in one; its
            source is the length - stride + 1 symbols before it, of whatever split. None: `length`.
        train_stride: the symbols between the beginnings of two training windows; below `length` the
            windows overlap, so that a symbol has several contexts and an epoch more windows. None:
            `length`.
    """

    vocabulary: VocabularyPart = Characters()
    length: PositiveInt = 256
    stride: PositiveInt | None = None
    train_stride: PositiveInt | None = None

    def __post_init__(self) -> None:
        check_fields(self, "task")
        for name in ("stride", "train_stride"):
            stride = getattr(self, name)
            if stride is not None and stride > self.length:
                raise UserError(
                    f"task.{name} must be at most task.length, {self.length}; got {stride}"
                )

    @abstractmethod
    def texts(self) -> dict[str, str]:
        """Return the text of each split, in the order in which one continues in the next."""

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        texts = self.texts()
        if vocabularies is None:
            lines = io.StringIO(texts["train"], newline="\n")
            vocabularies = joint(self.vocabulary.learn(lines))
        vocabulary = vocabularies.target
        if vocabulary is None:
            raise ValueError("text has a vocabulary; got None")
        ids = {split: vocabulary.encode_long(text) for split, text in texts.items()}
        start = np.array([START], vocabulary.dtype)
        symbols = np.concatenate([start, *ids.values()])
        splits, notes, begin = {}, [], 1
        for split, of_split in ids.items():
            count, unknown = len(of_split), int((of_split == UNKNOWN).sum())
            if not count:
                raise UserError(f"the {split} split has no symbols")
            if unknown:
                notes.append(
                    f"{unknown:,} of {count:,} {split} symbols are UNKNOWN: they are not in the "
                    "vocabulary, which is learned from the training split"
                )
            length, stride, context = self.length, self.train_stride or self.length, 1
            if split != "train":
                length = stride = self.stride or self.length
                context = self.length - stride + 1
            text = symbols[: begin + count]
            splits[split] = windows(text, begin, length=length, stride=stride, context=context)
            begin += count
        return Corpus(
            vocabularies=vocabularies,
            splits=splits,
            references={split: [vocabulary.plain(text)] for split, text in texts.items()},
            notes=tuple(notes),
        )

    def ids(self, text: str, vocabulary: Vocabulary) -> list[int]:
        """Encode a prompt, an excerpt of a text: neither START nor END is added."""
        return vocabulary.encode(text)


@dataclass(frozen=True, kw_only=True)
class RawText(TextStream):
    """A text as a stream of symbols: first the training split, then validation, then test.

    Attributes:
        file: of the text, or a pattern, "books/*.txt": several files, one after the other. Looked
            for as it is, then under ATTNJAX_DATA.
        valid: the fraction of the text's characters that is the validation split; 0: there is none.
        test: likewise, the test split.
    """

    file: str = "tinyshakespeare/input.txt"
    valid: Fraction = 0.05
    test: Fraction = 0.1
    encoding: Encoding = "UTF-8"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.valid + self.test >= 1:
            raise UserError(
                "task.valid + task.test must be below 1, or nothing is left to train on; got "
                f"{self.valid} + {self.test}"
            )

    def texts(self) -> dict[str, str]:
        text = read_text(find_file(self.file), self.encoding)
        test = len(text) - round(self.test * len(text))
        valid = test - round(self.valid * len(text))
        parts = {"train": text[:valid], "valid": text[valid:test], "test": text[test:]}
        return {name: part for name, part in parts.items() if part}


def windows(symbols: np.ndarray, begin: int, *, length: int, stride: int, context: int) -> Examples:
    """Cut START and a text [V] into windows, which share its symbols.

    Targets of this length begin at `begin`, at least 1, and every `stride` symbols after it; a
    source is the `context` symbols before its target, fewer at the beginning of the text.
    """
    starts = np.arange(begin, len(symbols), stride)
    return Examples(
        Rows(symbols, np.maximum(starts - context, 0), starts),
        Rows(symbols, starts, np.minimum(starts + length, len(symbols))),
    )
