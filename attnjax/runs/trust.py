"""Whose experiment file a run's folder holds: a file of somebody else is not run unasked.

An experiment file is a program. `attnjax run` signs what it records of the file with a key of the
user's, which stays in the user's data folder; a folder that somebody else hands over has another
signature, or none.
"""

import hashlib
import hmac
import os
import secrets
from pathlib import Path


def sign(*words: str) -> str:
    """The user's signature under these words; empty where no key can be kept."""
    key = _key()
    message = "\0".join(words).encode()
    return hmac.new(key, message, hashlib.sha256).hexdigest() if key else ""


def signed(signature: str, *words: str) -> bool:
    """Whether the user has signed these words."""
    return bool(signature) and hmac.compare_digest(signature, sign(*words))


def shipped_folder() -> Path:
    """The folder of the shipped experiments: in an installed package, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "experiments"
    return inside if inside.is_dir() else package.parent / "experiments"


def shipped(name: str, text: str) -> bool:
    """Whether a text is that of the experiment of this name that comes with attnjax."""
    path = shipped_folder() / f"{name}.py"
    return name.isidentifier() and path.is_file() and path.read_text(encoding="utf-8") == text


def _key() -> bytes | None:
    """The user's key, made at its first use; None: there is no place to keep one."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    path = Path(data) / "attnjax" / "key"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            whole = path.with_name(f"key.{os.getpid()}.tmp")
            whole.touch(mode=0o600)
            whole.write_bytes(secrets.token_bytes(32))
            if not path.exists():  # another process may have been as quick
                whole.rename(path)
        return path.read_bytes()
    except OSError:
        return None
