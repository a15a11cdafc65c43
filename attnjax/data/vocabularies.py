"""The vocabularies of a corpus, kept in a run's folder and read back from it."""

import json
from pathlib import Path
from typing import Literal, NamedTuple

from attnjax.data.sentencepiece import SentencePieceVocabulary
from attnjax.data.vocabulary import FILE, CharacterVocabulary, Vocabulary, WordVocabulary
from attnjax.errors import UserError

KINDS = (CharacterVocabulary, WordVocabulary, SentencePieceVocabulary)
type Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")


class Vocabularies(NamedTuple):
    """Of the source and of the target: one and the same twice, two, or None for what is no text."""

    source: Vocabulary | None
    target: Vocabulary | None

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """How many symbols each side has."""
        source, target = (None if side is None else side.size for side in self)
        return source, target

    @property
    def digest(self) -> str:
        """The same digest, the same ids on both sides."""
        source, target = ("" if side is None else side.digest for side in self)
        return source if source == target else f"{source}:{target}"

    def save(self, folder: Path) -> None:
        """Write them into a folder, which is made if need be; a joint one is written once."""
        if self.source is not None and self.source == self.target:
            self.source.save(folder)
            return
        for name, side in zip(SIDES, self, strict=True):
            if side is not None:
                side.save(folder / name)


def joint(vocabulary: Vocabulary) -> Vocabularies:
    """One vocabulary for both sides."""
    return Vocabularies(vocabulary, vocabulary)


def load_vocabularies(folder: Path, digest: str | None = None) -> Vocabularies:
    """What `Vocabularies.save` wrote into a folder.

    Args:
        folder: where they are.
        digest: of those that are wanted; None: whichever are there.

    Raises:
        UserError: when there are none, one is damaged, or they are not those wanted.
    """
    if digest == "":
        return Vocabularies(None, None)
    sides = [folder / name for name in SIDES]
    if any(side.exists() for side in sides):
        found = Vocabularies(*(_load(side) if side.exists() else None for side in sides))
    else:
        found = joint(_load(folder))
    if digest is not None and found.digest != digest:
        raise UserError(
            f"the vocabulary of another run: the one with digest {digest[:12]} was wanted, "
            f"{folder} has {found.digest[:12]}"
        )
    return found


def _load(folder: Path) -> Vocabulary:
    path = folder / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind = {kind.__name__: kind for kind in KINDS}[content["kind"]]
        vocabulary = kind.restore(folder, tuple(content["pieces"]))
        whole = vocabulary.digest == content["digest"]
    except FileNotFoundError as error:
        raise UserError(
            f"a saved vocabulary was wanted; there is no file {error.filename}"
        ) from error
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"a saved vocabulary was wanted; {path} is damaged ({error})") from error
    if not whole:
        raise UserError(f"a saved vocabulary was wanted; {path} was changed after it was written")
    return vocabulary
