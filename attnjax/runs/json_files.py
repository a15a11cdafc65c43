"""JSON files with a digest of their own content, so that damage is noticed."""

import json
from pathlib import Path
from typing import Any

from attnjax.config.sealed import sealed, unsealed
from attnjax.config.serialize import parse_json
from attnjax.errors import UserError
from attnjax.files import write_atomically


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file atomically."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(path, text + "\n")


def write_sealed(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON object and the digest of its content."""
    write_json(path, sealed(content))


def read_sealed(path: Path) -> dict[str, Any]:
    """The object that `write_sealed` wrote, without its digest; a damaged file is refused."""
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is damaged: it is not JSON ({error})") from error
    return unsealed(content, path)
