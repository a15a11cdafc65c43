"""Failures: why a run or a tuning failed, kept in its folder until a later call finishes it."""

import datetime
import traceback
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from attnjax.config.console import print_line
from attnjax.config.serialize import parse_json
from attnjax.errors import UserError, first_line
from attnjax.files import plain_file
from attnjax.lab.runs.json_files import write_json

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
    """Return the time of each recorded failure in a folder: its own, those of variants and runs."""
    places = (FILE, f"*/{FILE}", f"*/*/{FILE}", f"*/tied/*/*/{FILE}")
    records = [path for place in places for path in folder.glob(place)]
    return {path.parent: path.stat().st_mtime_ns for path in records if path.exists()}


def reason(folder: Path) -> str | None:
    """Return why a run, or a run or the tuning of a variant, failed last time; None: none did."""
    return next((own_reason(failed) for failed in sorted(recorded(folder))), None)


def own_reason(folder: Path) -> str | None:
    """Return the `reason` of a run, or of the tuning of a variant but not of its runs."""
    try:
        return str(parse_json(plain_file(folder / FILE).read_text(encoding="utf-8"))["reason"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return f"{folder / FILE} cannot be read"


def forget(folder: Path) -> None:
    """Delete the record of a failure, if there is one."""
    (folder / FILE).unlink(missing_ok=True)


class SweepFailures:
    """The runs and tunings that fail during a sweep, here or elsewhere: none is tried again.

    Attributes:
        reasons: why each failed, by its folder; a variant's folder, if its tuning failed.
    """

    def __init__(self, folder: Path, console: Console) -> None:
        """Leave out what has failed before; `folder` has all runs of the experiment."""
        self._folder, self._console = folder, console
        self._earlier = recorded(folder)
        self.reasons: dict[Path, str] = {}

    def has(self, folder: Path) -> bool:
        """Return whether the run or tuning in a folder has failed."""
        when = recorded(folder).get(folder)
        if folder not in self.reasons and when and when != self._earlier.get(folder):
            self.reasons[folder] = reason(folder) or ""
        return folder in self.reasons

    def add(self, errors: Mapping[Path, Exception], *, aloud: bool) -> None:
        """Record why runs, or a tuning, failed, and say each reason once if `aloud`."""
        names = defaultdict[str, list[str]](list)
        for folder, error in errors.items():
            self.reasons[folder] = record(folder, error)
            names[self.reasons[folder]].append(str(folder.relative_to(self._folder)))
        for why, failed in names.items() if aloud else ():
            print_line(self._console, f"{', '.join(failed)} failed: {why}")
