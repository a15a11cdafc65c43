"""JSON files with a digest of their own content, so that damage is noticed."""

import hashlib
import json
from pathlib import Path
from typing import Any

from attnjax.config.serialize import parse_json
from attnjax.errors import UserError
from attnjax.files import plain_file, write_atomically

DIGEST = "digest"


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file atomically."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(path, text + "\n")


def write_sealed(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON object and the digest of its content."""
    write_json(path, {**content, DIGEST: _digest(content)})


def read_sealed(path: Path) -> dict[str, Any]:
    """The object that `write_sealed` wrote, without its digest; a damaged file is refused."""
    try:
        content = parse_json(plain_file(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is damaged: it is not JSON ({error})") from error
    if not isinstance(content, dict) or DIGEST not in content:
        raise UserError(
            f"{path} has no digest: it is damaged, or an earlier version of attnjax wrote it"
        )
    digest = content.pop(DIGEST)
    if digest != _digest(content):
        raise UserError(f"{path} is damaged: its content does not match its digest")
    return content


def _digest(content: dict[str, Any]) -> str:
    plain = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(plain.encode()).hexdigest()
