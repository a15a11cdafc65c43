"""A run's own vocabulary, read back from its folder."""

import json
from pathlib import Path

from attnjax.data.sentencepieces import SentencePieceVocabulary
from attnjax.data.vocabulary import FILE, CharacterVocabulary, Vocabulary, WordVocabulary
from attnjax.errors import UserError

KINDS = (CharacterVocabulary, WordVocabulary, SentencePieceVocabulary)


def load_vocabulary(folder: Path, digest: str | None = None) -> Vocabulary:
    """The vocabulary that `save` wrote into a folder.

    Args:
        folder: where it is.
        digest: of the vocabulary that is wanted; None: whichever is there.

    Raises:
        UserError: when there is none, it is damaged, or it is not the one wanted.
    """
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
    if digest is not None and vocabulary.digest != digest:
        raise UserError(
            f"the vocabulary of another run: the one with digest {digest[:12]} was wanted, "
            f"{path} has {vocabulary.digest[:12]} ({vocabulary.size} symbols)"
        )
    return vocabulary
