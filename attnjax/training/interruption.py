"""Ctrl-C, noticed between two steps instead of in the middle of one."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interruption() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed. A second one ends the program at once.

    Outside the main thread, which alone gets signals, nothing is changed.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return

    def press(*_: object) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)
