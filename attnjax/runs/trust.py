"""Signatures that tell the user's own experiment files from those of somebody else.

An experiment file is a program, and one of somebody else is not executed without consent. `attnjax
run` signs the digest and the path of the file with a key in the user's data folder.
"""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from attnjax.files import write_atomically


def sign(*words: str) -> str:
    """The user's signature of these words; "" if no key can be stored."""
    key = _key()
    message = "\0".join(words).encode()
    return hmac.new(key, message, hashlib.sha256).hexdigest() if key else ""


def signed(signature: str, *words: str) -> bool:
    """Whether the user has signed these words."""
    return bool(signature) and hmac.compare_digest(signature, sign(*words))


def shipped_folder() -> Path:
    """The folder of the shipped experiments, in an installed package or in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "experiments"
    return inside if inside.is_dir() else package.parent / "experiments"


def shipped(name: str, text: str) -> bool:
    """Whether a text is that of the shipped experiment of this name."""
    path = shipped_folder() / f"{name}.py"
    return name.isidentifier() and path.is_file() and path.read_text(encoding="utf-8") == text


def _key() -> bytes | None:
    """The user's key, made at its first use; None: it cannot be stored."""
    try:
        data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
        path = Path(data) / "attnjax" / "key"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, secrets.token_bytes(32), mode=0o600)
        return path.read_bytes()
    except (OSError, RuntimeError):  # there is no home
        return None
