"""Failures: why a run or a tuning failed, kept in its folder until a later call finishes it."""

import datetime
import traceback
from pathlib import Path

from attnjax.config.serialize import parse_json
from attnjax.errors import UserError, first_line
from attnjax.runs.json_files import write_json

FILE = "failed.json"
"""The name of the file, in the run's folder, or in that of the variant that could not be tuned."""


def record(folder: Path, error: Exception) -> str:
    """Write why a run or a tuning failed; return the reason in one line."""
    line = first_line(error)
    reason = line if isinstance(error, UserError) else f"{type(error).__name__}: {line}"
    content = {
        "reason": reason,
        "traceback": "".join(traceback.format_exception(error)),
        "date": datetime.date.today().isoformat(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FILE, content)
    return reason


def recorded(folder: Path) -> dict[Path, int]:
    """When each failure was recorded, of what is in a folder: itself, variants, runs."""
    places = (FILE, f"*/{FILE}", f"*/*/{FILE}", f"*/tied/*/*/{FILE}")
    records = [path for place in places for path in folder.glob(place)]
    return {path.parent: path.stat().st_mtime_ns for path in records if path.exists()}


def reason(folder: Path) -> str | None:
    """Why a run, or a run or the tuning of a variant, failed the last time; None: none did."""
    return next((own_reason(failed) for failed in sorted(recorded(folder))), None)


def own_reason(folder: Path) -> str | None:
    """As `reason`, of a run, or of the tuning of a variant but not of its runs."""
    try:
        return str(parse_json((folder / FILE).read_text(encoding="utf-8"))["reason"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return f"{folder / FILE} cannot be read"


def forget(folder: Path) -> None:
    """Delete the record of a failure, if there is one."""
    (folder / FILE).unlink(missing_ok=True)
