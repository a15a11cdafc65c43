"""JSON files with a digest of their own content, so that damage is noticed."""

from pathlib import Path
from typing import Any

from attnjax.config.sealed import sealed, unsealed
from attnjax.config.serialize import finite, json_text, parse_json
from attnjax.errors import UserError
from attnjax.files import plain_file, write_atomically


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file atomically; a number that is not finite becomes null."""
    write_atomically(path, json_text(content, indent=1) + "\n")


def write_sealed(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON object and the digest of its content."""
    write_json(path, sealed(finite(content)))  # as it will be read


def read_sealed(path: Path) -> dict[str, Any]:
    """Read the object that `write_sealed` wrote, without its digest; refuse a damaged file."""
    try:
        content = parse_json(plain_file(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is damaged: it is not JSON ({error})") from error
    return unsealed(content, path)
