"""The exit code of an interrupted run, which asks a batch system to queue the job again."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

REQUEUE = os.EX_TEMPFAIL
"""75: interrupted, everything is saved, and the same command goes on."""

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
"""What a batch system sends before it ends a job; SLURM's --signal may name either."""


@contextmanager
def requeued() -> Iterator[None]:
    """End the program at once with `REQUEUE` when a batch system's signal comes.

    A run's files are whole at any moment, so nothing is lost. While a run is trained, the training
    gets the first signal of a kind instead, and saves before it ends. Only the main thread gets
    signals; in another thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _end) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _end(number: int, _: FrameType | None) -> None:
    # not an exception, which a module that is being imported might swallow
    name = signal.Signals(number).name
    sentence = f"attnjax: interrupted by {name}; the same command goes on from what is saved\n"
    os.write(2, sentence.encode())
    os._exit(REQUEUE)
