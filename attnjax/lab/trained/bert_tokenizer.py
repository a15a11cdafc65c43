"""How a BERT of the public layout reads text: its tokenizer's files, or its vocabulary alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attnjax.config.serialize import parse_json
from attnjax.data.wordpiece import WordPiece, normalized, read_pieces
from attnjax.errors import UserError, warn

WORDS = "vocab.txt"

CONFIG, FAST = "tokenizer_config.json", "tokenizer.json"
"""The files of the layout that say how texts are read; both may be missing."""

CONFIG_ONLY = {
    "do_basic_tokenize": True,
    "never_split": None,
    "word_tokenizer_type": "basic",
    "subword_tokenizer_type": "wordpiece",
}
FAST_ONLY = {
    "normalizer.type": "BertNormalizer",
    "normalizer.clean_text": True,
    "pre_tokenizer.type": "BertPreTokenizer",
    "model.type": "WordPiece",
}
"""The only values that the files may have for fields that `WordPiece` has no choice of."""

NORMALIZER = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
"""The names of the same fields in tokenizer_config.json, and in tokenizer.json's normalizer."""

MANY = 0.01
"""More than this share of a vocabulary's pieces is no accident."""


def word_pieces(folder: Path) -> WordPiece:
    """Return the words that a BERT reads, as its tokenizer's files say.

    Where none says whether texts are lowered, they keep the case and the accents of the vocabulary.

    Raises:
        UserError: a file is damaged, or wants a way to read that there is not.
    """
    fields = _tokenizer_fields(folder)
    lower, strip_accents = fields["do_lower_case"], fields["strip_accents"]
    if lower is None:
        pieces = read_pieces(folder / WORDS)
        lower = not _many(_lost(pieces, lower=True, strip_accents=False), pieces)
        accents = _many(_lost(pieces, lower=lower, strip_accents=True), pieces)
        strip_accents = False if strip_accents is None and accents else strip_accents
    return WordPiece(
        file=str(folder / WORDS),
        lower=lower,
        strip_accents=strip_accents,
        split_ideographs=fields["tokenize_chinese_chars"] is not False,
    )


def warn_of_lost_pieces(words: WordPiece, pieces: Sequence[str]) -> None:
    """Warn if many pieces of a vocabulary cannot be read, as their case or accents are removed."""
    lost = _lost(pieces, lower=words.lower, strip_accents=words.strips_accents)
    if _many(lost, pieces):
        warn(
            f"{words.file} has {len(lost):,} pieces, such as {lost[0]!r}, that no text is read as, "
            f"since it is read with do_lower_case={words.lower}, "
            f"strip_accents={words.strips_accents}: {CONFIG} beside it may say otherwise"
        )


def read_object(path: Path) -> dict[str, Any]:
    """Read the JSON object in a file of the layout."""
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"a BERT's {path.name} was wanted; there is no file {path}") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} must hold a JSON object; it holds something else")
    return content


def _tokenizer_fields(folder: Path) -> dict[str, bool | None]:
    """Return what the files say of each field of NORMALIZER; None: nothing."""
    fields: dict[str, bool | None] = dict.fromkeys(NORMALIZER)
    fast, config = (
        read_object(folder / name) if (folder / name).is_file() else None for name in (FAST, CONFIG)
    )
    if fast is not None:
        _check(fast, FAST_ONLY, folder / FAST)
        fields |= {
            name: fast.get("normalizer", {}).get(other) for name, other in NORMALIZER.items()
        }
    if config is not None:
        _check(config, CONFIG_ONLY, folder / CONFIG)
        fields |= {name: config[name] for name in NORMALIZER if config.get(name) is not None}
    for name, value in fields.items():
        if not isinstance(value, bool | None):
            raise UserError(
                f"{folder}: {name} of the tokenizer must be true or false; got {value!r}"
            )
    return fields


def _check(content: Mapping[str, Any], only: Mapping[str, Any], path: Path) -> None:
    """Refuse a file with another value than the only one; a missing field has that one."""
    for name, wanted in only.items():
        value: Any = content
        for key in name.split("."):
            value = value.get(key, wanted) if isinstance(value, dict) else value
        if value not in (wanted, []):
            raise UserError(f"{path} must have {name} {wanted!r}; got {value!r}")


def _lost(pieces: Sequence[str], *, lower: bool, strip_accents: bool) -> list[str]:
    """Return the pieces that a text's words cannot have; names such as [CLS] are none."""
    return [
        piece
        for piece in pieces
        if not (piece.startswith("[") and piece.endswith("]"))
        and normalized(piece, lower=lower, strip_accents=strip_accents) != piece
    ]


def _many(some: Sequence[str], pieces: Sequence[str]) -> bool:
    return len(some) > MANY * len(pieces)
