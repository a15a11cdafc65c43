"""Vocabularies of plain text, learned by sentencepiece, which is imported when one is needed."""

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Gt

from attnjax.config.constraints import PositiveInt, Probability
from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.data.unspaced import counted_words
from attnjax.data.vocabulary import SPECIAL, Vocabulary, VocabularyPart
from attnjax.errors import UserError
from attnjax.files import plain_file, write_atomically

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

SPACE = "\u2581"
"""Stands for a space in a piece."""


@dataclass(frozen=True)
class SentencePieceVocabulary(Vocabulary):
    """Pieces of sentencepiece (Kudo & Richardson 2018)."""

    model: bytes = field(repr=False, compare=False)  # in its own format
    FILE: ClassVar[str] = "sentencepiece.model"

    @cached_property
    def _processor(self) -> "SentencePieceProcessor":
        from sentencepiece import SentencePieceProcessor

        return SentencePieceProcessor(model_proto=self.model)

    def split(self, text: str) -> list[str]:
        return self._processor.encode(_whole(text), out_type=str)

    def encode(self, text: str) -> list[int]:
        return self._processor.encode(_whole(text), out_type=int)

    def merge(self, pieces: list[str]) -> str:
        return self._processor.decode(pieces)

    def words(self, text: str) -> list[str]:
        return counted_words(text)

    def plain(self, text: str) -> str:
        # as the pieces of the text, joined again, in a tenth of the time
        return self._processor.normalize(_whole(text)).replace(SPACE, " ").lstrip(" ")

    def file_digests(self) -> dict[str, str]:
        return {self.FILE: sha256(self.model).hexdigest()}

    def save(self, folder: Path) -> None:
        super().save(folder)
        write_atomically(folder / self.FILE, self.model)

    @classmethod
    def restore(cls, folder: Path, content: Mapping[str, Any]) -> "SentencePieceVocabulary":
        model = plain_file(folder / cls.FILE).read_bytes()
        # before sentencepiece reads it, which a damaged model can crash
        if content[cls.FILE] != sha256(model).hexdigest():
            raise ValueError(f"{folder / cls.FILE} is not as it was written")
        vocabulary = cls.of(model)
        if vocabulary.pieces != tuple(content["pieces"]):
            raise ValueError(f"{folder / cls.FILE} has other pieces")
        return vocabulary

    @classmethod
    def of(cls, model: bytes) -> "SentencePieceVocabulary":
        """Return the vocabulary of a sentencepiece model.

        Raises:
            ValueError: the bytes are no such model.
        """
        from sentencepiece import SentencePieceProcessor

        try:
            processor = SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError("not a model of sentencepiece") from error
        return cls(tuple(processor.id_to_piece(list(range(processor.vocab_size())))), model)


@dataclass(frozen=True, kw_only=True)
class SentencePiece(VocabularyPart):
    """Pieces of plain text, of any language, learned by sentencepiece.

    The text is taken as it is, without Unicode normalization, and comes back from its pieces, but
    for spaces: runs of them become one, those at the ends are removed, and sentencepiece's mark for
    them, U+2581, becomes one. References are scored in that form. If a text has line breaks, a line
    break is a piece. The characters NUL, U+001F and U+2585, with which sentencepiece writes, are
    UNKNOWN; nothing is learned from the spelling of a special symbol, such as `<end>`.

    Attributes:
        size: the number of pieces, the four special symbols counted.
        coverage: the share of the text's characters that have a piece; the rarest are UNKNOWN.
        algorithm: "unigram" (Kudo 2018), or "bpe", merges of the most frequent neighbors (Sennrich,
            Haddow & Birch 2016).
        sample: the most texts that the pieces are learned from, drawn at random, the same ones each
            time; None: all texts.
    """

    size: PositiveInt = 8000
    coverage: Annotated[Probability, Gt(0)] = 1.0
    algorithm: Literal["unigram", "bpe"] = "unigram"
    sample: PositiveInt | None = None

    def learn(self, texts: Iterable[str]) -> SentencePieceVocabulary:
        """Learn the pieces that sentencepiece finds, the same ones each time."""
        from sentencepiece import SentencePieceTrainer

        model, texts = io.BytesIO(), self._drawn(texts)
        breaks = [mark for mark in "\n\r" if any(mark in text for text in texts)]
        try:
            SentencePieceTrainer.train(
                # it leaves out a text that has its own mark for what is unknown
                sentence_iterator=(text.replace("\u2585", " ") for text in texts),
                model_writer=model,
                model_type=self.algorithm,
                vocab_size=self.size,
                character_coverage=self.coverage,
                normalization_rule_name="identity",
                max_sentence_length=1 << 30,  # by default it leaves out what is longer than 4,192
                num_threads=4,  # the pieces depend on it, so it is not the machine's
                minloglevel=2,
                user_defined_symbols=breaks,
                pad_id=PAD,
                pad_piece=SPECIAL[PAD],
                bos_id=START,
                bos_piece=SPECIAL[START],
                eos_id=END,
                eos_piece=SPECIAL[END],
                unk_id=UNKNOWN,
                unk_piece=SPECIAL[UNKNOWN],
            )
        except RuntimeError as error:
            most = re.search(r"value <= (\d+)", str(error))
            least = re.search(r"required_chars\S* *\d+ vs (\d+)", str(error))
            if most:
                reason = f"the corpus gives {most[1]} pieces at most"
            elif least:
                reason = f"its characters alone need {least[1]}"
            elif re.search(r"sentences_\.empty\(\)|all_chars_count", str(error)):
                reason = "the texts to learn from are empty"
            elif "isfinite" in str(error):
                reason = "a text has a word that is too long to learn from (algorithm bpe can)"
            else:
                reason = f"sentencepiece says: {error}"
            raise UserError(f"vocabulary.size={self.size}: {reason}") from error
        return SentencePieceVocabulary.of(model.getvalue())

    def _drawn(self, texts: Iterable[str]) -> list[str]:
        """Draw the texts to learn from; no more than these are held in memory.

        Source: Vitter 1985, algorithm R.
        """
        texts = iter(texts)
        drawn = list(islice(texts, self.sample))
        draw = Random(0)
        for seen, text in enumerate(texts, start=len(drawn) + 1):
            if (index := draw.randrange(seen)) < len(drawn):
                drawn[index] = text
        return drawn


def _whole(text: str) -> str:
    """Return a text in which each half of a character, which UTF-8 has not, is U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
