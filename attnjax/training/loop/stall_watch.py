"""A watch over a training that waits: a stalled step or data source is reported on the console."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# how long a training may wait for one thing before it is reported; then after twice as long
SECONDS_OF_SILENCE = 300.0


class StallWatch:
    """Says what a training has been waiting for, if it waits long; watches until it is closed."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """Begin to watch; `say` gets the sentences, without their subject."""
        self._say, self._ended = say, threading.Event()
        self._waiting: tuple[str, float] | None = None
        threading.Thread(target=self._watch, name="stalls", daemon=True).start()

    @contextmanager
    def waiting_for(self, what: str) -> Iterator[None]:
        """Name what is waited for: "the data", "the devices"."""
        self._waiting = what, time.monotonic()
        try:
            yield
        finally:
            self._waiting = None

    def close(self) -> None:
        self._ended.set()

    def _watch(self) -> None:
        reported, patience = None, SECONDS_OF_SILENCE
        while not self._ended.wait(SECONDS_OF_SILENCE / 20):
            waiting = self._waiting
            if waiting is None:
                continue
            if waiting != reported:
                patience = SECONDS_OF_SILENCE
            what, since = waiting
            seconds = time.monotonic() - since
            if seconds >= patience:
                self._say(f"has been waiting for {what} for {seconds:.0f} s")
                reported, patience = waiting, 2 * patience
