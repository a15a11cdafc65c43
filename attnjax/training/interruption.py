"""Ctrl-C and SIGTERM, noticed between two steps instead of in the middle of one."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and what a batch system sends before it ends a job."""


class Interruption:
    """The signal that has come, if one has."""

    signal: int | None = None

    def __bool__(self) -> bool:
        return self.signal is not None


@contextmanager
def interruption() -> Iterator[Interruption]:
    """Notice Ctrl-C and SIGTERM; a second one of a kind ends the program at once.

    Outside the main thread, which alone gets signals, nothing is noticed.
    """
    noticed = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield noticed
        return

    def notice(number: int, _: object) -> None:
        noticed.signal = number
        signal.signal(number, before[number])

    # None is a handler that was not installed from Python
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
