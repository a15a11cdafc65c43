"""Checkpoints that are written while the training goes on: when, and by which thread."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from attnjax.training.checkpoints.checkpoint import Checkpoints
from attnjax.training.checkpoints.snapshot import Snapshot
from attnjax.training.settings import Training

SECONDS_BETWEEN_CHECKPOINTS, SECONDS_WITHIN_AN_EPOCH = 60, 600
"""The shortest times between checkpoints at ends of epochs, and within an epoch.

Every end of an epoch is saved if more than the last one is wanted, see `Training.keep_last`.
"""


class Saves:
    """Writes checkpoints while the training goes on; one save at a time.

    An error of a save is raised by the next call of `begin`, `check` or `wait`.
    """

    def __init__(
        self,
        training: Training,
        before: Callable[[], None],
        after: Callable[[], None],
    ) -> None:
        """Begin to count the time; an error of `before` is that of `begin`.

        `before` is called before anything is saved, `after` when all runs are saved, before earlier
        checkpoints are deleted.
        """
        self._training, self._last = training, time.monotonic()
        self._before, self._after = before, after
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._save: Future[None] | None = None

    def due(self, *, epoch_ended: bool) -> bool:
        """Whether it is time for a save."""
        since = time.monotonic() - self._last
        if not epoch_ended:
            return since >= SECONDS_WITHIN_AN_EPOCH
        return self._training.needs_every_epoch or since >= SECONDS_BETWEEN_CHECKPOINTS

    def begin(self, group: Sequence[tuple[Checkpoints, Snapshot]]) -> None:
        """Begin to save runs, once the save before has ended."""
        self._before()
        self.wait()
        self._last = time.monotonic()
        self._save = self._thread.submit(self._write, group)

    def check(self) -> None:
        """Raise the error of a save that has failed; never waits."""
        if self._save is not None and self._save.done():
            self.wait()

    def wait(self) -> None:
        """Wait until everything is saved."""
        save, self._save = self._save, None
        if save is not None:
            save.result()

    def close(self) -> None:
        """Wait for the save; if it fails, its error is lost."""
        self._thread.shutdown()

    def _write(self, group: Sequence[tuple[Checkpoints, Snapshot]]) -> None:
        """Save all runs, and only then delete older checkpoints; see `open_runs`."""
        for checkpoints, snapshot in group:
            checkpoints.save(snapshot)
        self._after()
        for checkpoints, _ in group:
            checkpoints.prune(self._training)
