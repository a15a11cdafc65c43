"""The vocabularies of a corpus, saved in a run's folder and loaded from it."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from attnjax.config.serialize import parse_json
from attnjax.data.files import find_folder
from attnjax.data.moses import MosesVocabulary
from attnjax.data.sentencepiece import SentencePieceVocabulary
from attnjax.data.vocabulary import (
    FILE,
    CharacterVocabulary,
    LabelVocabulary,
    Vocabulary,
    VocabularyPart,
    WordVocabulary,
)
from attnjax.data.wordpiece import WordPieceVocabulary
from attnjax.errors import UserError
from attnjax.files import plain_file

KINDS = (
    CharacterVocabulary,
    LabelVocabulary,
    MosesVocabulary,
    SentencePieceVocabulary,
    WordPieceVocabulary,
    WordVocabulary,
)
type Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")


class Vocabularies(NamedTuple):
    """The vocabularies of source and target, which may be the same; None: that side is not text."""

    source: Vocabulary | None
    target: Vocabulary | None

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """The number of ids of each side; None: that side is not text."""
        source, target = (None if side is None else side.size for side in self)
        return source, target

    @property
    def digest(self) -> str:
        """The digest of both sides; equal digests mean equal ids."""
        source, target = ("" if side is None else side.digest for side in self)
        return source if source == target else f"{source}:{target}"

    def save(self, folder: Path) -> None:
        """Write both into a folder, made if needed; a shared vocabulary is written once."""
        if self.source is not None and self.source == self.target:
            self.source.save(folder)
            return
        for name, side in zip(SIDES, self, strict=True):
            if side is not None:
                side.save(folder / name)


def joint(vocabulary: Vocabulary) -> Vocabularies:
    """Return vocabularies that share one for both sides."""
    return Vocabularies(vocabulary, vocabulary)


def load_vocabularies(folder: Path, digest: str | None = None) -> Vocabularies:
    """Read the vocabularies that `Vocabularies.save` wrote, with this digest; None: any digest.

    Raises:
        UserError: a vocabulary is missing or damaged, or has another digest.
    """
    if digest == "":
        return Vocabularies(None, None)
    sides = [folder / name for name in SIDES]
    if any(side.exists() for side in sides):
        vocabularies = Vocabularies(*(_load(side) if side.exists() else None for side in sides))
    else:
        vocabularies = joint(_load(folder))
    if digest is not None and vocabularies.digest != digest:
        raise UserError(
            f"{folder} has the vocabulary of another run: its digest is "
            f"{vocabularies.digest[:12]}, not {digest[:12]}"
        )
    return vocabularies


@dataclass(frozen=True, kw_only=True)
class SavedVocabulary(VocabularyPart):
    """The vocabulary of a run's sources, as it is; nothing is learned.

    Attributes:
        folder: the folder `vocabulary` of the run; looked for as it is, then under ATTNJAX_DATA.
    """

    folder: str

    def files(self) -> list[Path]:
        return sorted(path for path in find_folder(self.folder).rglob("*") if path.is_file())

    def words(self, text: str) -> list[str]:
        return self._saved.words(text)

    def learn(self, texts: Iterable[str]) -> Vocabulary:
        del texts
        return self._saved

    @cached_property
    def _saved(self) -> Vocabulary:
        vocabulary = load_vocabularies(find_folder(self.folder)).source
        if vocabulary is None:
            raise UserError(f"{self.folder} is the vocabulary of a run whose sources are no text")
        return vocabulary


def _load(folder: Path) -> Vocabulary:
    path = folder / FILE
    try:
        content = parse_json(plain_file(path).read_text(encoding="utf-8"))
        kind = {kind.__name__: kind for kind in KINDS}[content["kind"]]
        vocabulary = kind.restore(folder, content)
        if not all(isinstance(piece, str) for piece in vocabulary.pieces):
            raise TypeError("a piece is no text")
        whole = vocabulary.digest == content["digest"]
    except FileNotFoundError as error:
        raise UserError(f"the vocabulary {error.filename} is missing") from error
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(f"the vocabulary {path} is damaged ({error})") from error
    if not whole:
        raise UserError(f"the vocabulary {path} was changed after it was written")
    return vocabulary
