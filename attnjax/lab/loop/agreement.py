"""Save and stop requests, agreed on by all processes before the next step."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attnjax.training.devices import hosts

# Ctrl-C, and what a batch system sends before it ends a job; SLURM's --signal may name USR1
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)

# what a process asks for; a greater number is that of a signal, which means to save, too
NOTHING, SAVE = 0, 1


class Requests:
    """Requests of any process, which all processes meet at the same step.

    A process that is alone hears a signal at once. Several compare their requests after every step,
    and learn the result a step later: then nobody has waited for it.
    """

    def __init__(self) -> None:
        self._noticed: int | None = None  # the signal that has come to this process
        self._heard = NOTHING
        self._asked: Callable[[], int] | None = None

    @contextmanager
    def noticing_signals(self) -> Iterator[None]:
        """Notice the first signal of each kind; the second goes to the handler of before."""
        if threading.current_thread() is not threading.main_thread():  # it alone gets signals
            yield
            return

        def notice(number: int, _: object) -> None:
            self._noticed = number
            signal.signal(number, before[number])

        # None stands for a handler that was not installed from Python
        before: dict[int, Any] = {
            number: signal.getsignal(number) or signal.SIG_DFL for number in SIGNALS
        }
        for number in SIGNALS:
            signal.signal(number, notice)
        try:
            yield
        finally:
            for number in SIGNALS:
                signal.signal(number, before[number])

    @property
    def signal(self) -> int | None:
        """The signal that all processes end for; None: they go on."""
        if hosts.count() == 1:
            return self._noticed
        return self._heard if self._heard > SAVE else None

    @property
    def save(self) -> bool:
        return self._heard != NOTHING or self.signal is not None

    def compare(self, *, save: bool, wait: bool) -> None:
        """Compare this process's requests with the others'; all processes call it.

        `save` asks for a save. Without `wait` the result is that of the call before.
        """
        asked = hosts.begin_to_agree(self._noticed or (SAVE if save else NOTHING))
        if wait or hosts.count() == 1:
            before, self._asked = asked, None
        else:
            before, self._asked = self._asked, asked
        self._heard = NOTHING if before is None else before()

    def saved(self) -> None:
        """Forget the request for a save, which has been met."""
        self._asked = None
        if self._heard == SAVE:
            self._heard = NOTHING
