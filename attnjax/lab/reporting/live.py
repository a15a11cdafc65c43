"""The report of a sweep that is still running: it is written anew, and loads itself again."""

import math
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from attnjax.errors import UserError
from attnjax.experiment.load import ExperimentFile
from attnjax.lab.reporting.page import FILE, write
from attnjax.lab.results.folder import summarize
from attnjax.lab.results.record import Record

SECONDS = 60.0
"""How long a page stays as it is: drawing it takes some seconds."""


@dataclass(kw_only=True)
class LiveReport:
    """The report of an experiment whose runs are being trained, in the experiment's folder.

    Attributes:
        records: records of files, of which those that fit stand in for runs.
        written: when the page was last written, or the sweep began, in seconds of a clock.
    """

    folder: Path
    loaded: ExperimentFile
    records: tuple[Record, ...] = ()
    written: float = field(default_factory=time.monotonic)

    def update(self) -> None:
        """Write the report of the runs that are finished, unless a process wrote it a moment ago.

        What cannot be summarized, such as a damaged run, or written, must not end a training: it is
        said at the sweep's end.
        """
        if time.monotonic() - self.written < SECONDS or self._age() < SECONDS:
            return
        with suppress(UserError, OSError):
            summary = summarize(self.folder, self.loaded, records=self.records)
            if summary.rows:  # there are none while the first variant is tuned
                write(self.folder, summary, unfinished=True)
        self.written = time.monotonic()

    def _age(self) -> float:
        """Return the seconds since a process wrote the page; infinity: none has."""
        try:
            return time.time() - (self.folder / FILE).stat().st_mtime
        except OSError:
            return math.inf
