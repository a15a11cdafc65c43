"""Signals that end a training are noticed between two steps, not in the middle of a step."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
"""Ctrl-C, and what a batch system sends before it ends a job; SLURM's --signal may name USR1."""


class Interruption:
    """The signal that has come; None: no signal has come."""

    signal: int | None = None

    def __bool__(self) -> bool:
        return self.signal is not None


@contextmanager
def interruption() -> Iterator[Interruption]:
    """Notice the first signal of each kind; the second goes to the handler that was there before.

    Only the main thread gets signals; in another thread nothing is noticed.
    """
    noticed = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield noticed
        return

    def notice(number: int, _: object) -> None:
        noticed.signal = number
        signal.signal(number, before[number])

    # None stands for a handler that was not installed from Python
    before: dict[int, Any] = {
        number: signal.getsignal(number) or signal.SIG_DFL for number in SIGNALS
    }
    for number in SIGNALS:
        signal.signal(number, notice)
    try:
        yield noticed
    finally:
        for number in SIGNALS:
            signal.signal(number, before[number])
