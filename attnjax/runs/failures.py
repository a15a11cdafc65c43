"""Failed variants: why a variant failed, kept in its folder until a later call finishes it."""

import datetime
import traceback
from pathlib import Path

from attnjax.config.serialize import parse_json
from attnjax.errors import UserError
from attnjax.runs.sealed import write_json

FILE = "failed.json"
"""The name of the file, in the variant's folder."""


def record(folder: Path, error: Exception) -> str:
    """Write why a variant failed; return the reason in one line.

    Args:
        folder: the folder of the variant.
        error: the error that ended its training or measuring.
    """
    said = (str(error).splitlines() or [""])[0]
    reason = said if isinstance(error, UserError) else f"{type(error).__name__}: {said}"
    content = {
        "reason": reason,
        "traceback": "".join(traceback.format_exception(error)),
        "date": datetime.date.today().isoformat(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FILE, content)
    return reason


def reason(folder: Path) -> str | None:
    """Why the variant in a folder failed the last time; None: it did not fail."""
    try:
        return str(parse_json((folder / FILE).read_text(encoding="utf-8"))["reason"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return f"{folder / FILE} cannot be read"


def forget(folder: Path) -> None:
    """Delete the record of a failure, if there is one."""
    (folder / FILE).unlink(missing_ok=True)
