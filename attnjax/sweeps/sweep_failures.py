"""What fails during a sweep, here or in another process: it is not tried again."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from attnjax.console import print_line
from attnjax.runs import failures


class SweepFailures:
    """The runs and tunings that have failed during a sweep.

    Attributes:
        reasons: why each failed, by its folder; a variant's folder, if its tuning failed.
    """

    def __init__(self, folder: Path, console: Console) -> None:
        """Leave out what has failed before; `folder` has all runs of the experiment."""
        self._folder, self._console = folder, console
        self._earlier = failures.recorded(folder)
        self.reasons: dict[Path, str] = {}

    def has(self, folder: Path) -> bool:
        """Whether what is in a folder has failed."""
        when = failures.recorded(folder).get(folder)
        if folder not in self.reasons and when and when != self._earlier.get(folder):
            self.reasons[folder] = failures.reason(folder) or ""
        return folder in self.reasons

    def add(self, errors: Mapping[Path, Exception], *, aloud: bool) -> None:
        """Record why runs, or a tuning, failed, and say each reason once if `aloud`."""
        names = defaultdict[str, list[str]](list)
        for folder, error in errors.items():
            self.reasons[folder] = failures.record(folder, error)
            names[self.reasons[folder]].append(str(folder.relative_to(self._folder)))
        for why, failed in names.items() if aloud else ():
            print_line(self._console, f"{', '.join(failed)} failed: {why}")
