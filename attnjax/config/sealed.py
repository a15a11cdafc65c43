"""JSON objects that carry a digest of their own content, so that damage is noticed."""

import hashlib
import json
from typing import Any

from attnjax.errors import UserError

DIGEST = "digest"


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON object with the digest of its content."""
    return {**content, DIGEST: _digest(content)}


def unsealed(content: Any, where: object) -> dict[str, Any]:
    """Return the object that `sealed` was given; refuse that of a damaged file, which is named."""
    if not isinstance(content, dict) or DIGEST not in content:
        raise UserError(
            f"{where} has no digest: it is damaged, or an earlier version of attnjax wrote it"
        )
    kept = {key: value for key, value in content.items() if key != DIGEST}
    if content[DIGEST] != _digest(kept):
        raise UserError(f"{where} is damaged: its content does not match its digest")
    return kept


def _digest(content: dict[str, Any]) -> str:
    plain = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(plain.encode()).hexdigest()
