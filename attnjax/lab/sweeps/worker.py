"""A worker: one of several processes that a command has started to share its sweep.

The process that started it, see `workers`, writes words to its standard input:

    look     another worker has finished runs, or has died: there may be something to do
    print    the sweep has ended: print what a single process prints at its end

The end of that input means that nothing more is wanted: a worker that is still training saves and
ends, because the process that started it has died. On standard error the worker writes lines, which
are shown as they are, and messages: MARK and JSON.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, MutableMapping
from dataclasses import asdict, dataclass
from typing import Any

from attnjax.config.console import RemoteConsole

ROLE = "ATTNJAX_WORKER"
"""The environment variable that makes a process a worker."""

MARK = "\x1e"
"""The first letter of a message."""

LOOK, PRINT = "look", "print"

SECONDS_TO_SAVE = 60.0
"""How long a worker may still take to save after the process that started it has died."""


@dataclass(frozen=True, kw_only=True)
class Role:
    """What a worker is told at its start: its place among the workers, and its core.

    Attributes:
        core: the core that it is bound to; None: it is not bound.
        drawn: whether bars are drawn, in place of lines.
    """

    place: int
    count: int
    core: int | None
    drawn: bool

    def words(self) -> str:
        """Return the value of `ROLE`."""
        return json.dumps(asdict(self))


class Member:
    """A process that works on a sweep, whoever else does: this one was started by itself."""

    of_command = False
    """Whether other processes of the same command work on the sweep."""

    def begin_at(self, variants: int) -> int:
        """Return the index of the variant that this process looks at first."""
        return 0

    _waiting = ""

    def wait(self, seconds: float, sentence: str, say: Callable[[str], None]) -> None:
        """Say what is waited for, and wait until it may be finished, at most so long."""
        if sentence != self._waiting:
            say(sentence)
        self._waiting = sentence
        time.sleep(seconds)

    def finished(self) -> None:
        """Note that this process has finished runs, and holds them no more."""


class Worker(Member):
    """A member that a command has started together with others."""

    of_command = True

    def __init__(self, role: Role) -> None:
        """Bind this process to its core, and begin to listen; see `begun`."""
        self._role = role
        self._look, self._ready = threading.Event(), False
        self._last, self._printing = threading.Event(), False
        if role.core is not None:
            os.sched_setaffinity(0, {role.core})
        # what is printed before the sweep's end is said by all workers
        sys.stdout.flush()
        self._output = os.dup(1)
        os.dup2(2, 1)
        threading.Thread(target=self._listen, name="words", daemon=True).start()

    @classmethod
    def begun(cls, environment: MutableMapping[str, str]) -> "Worker | None":
        """Return the worker that this process is; None: it is none.

        Its environment is left without `ROLE`, which is not that of processes that it starts.
        """
        words = environment.pop(ROLE, None)
        return None if words is None else cls(Role(**json.loads(words)))

    def console(self) -> RemoteConsole:
        """Return the console whose lines and bars are shown by the process that started this."""
        return RemoteConsole(tell, drawn=self._role.drawn)

    def begin_at(self, variants: int) -> int:
        """Return the first variant of this worker's share: all begin at different ones."""
        return self._role.place * variants // self._role.count

    def wait(self, seconds: float, sentence: str, say: Callable[[str], None]) -> None:
        """Wait until another worker has finished something, at most so long.

        What is waited for is said once all workers wait: then none of them holds it.
        """
        tell({"waits": sentence})
        self._look.wait(seconds)
        self._look.clear()

    def finished(self) -> None:
        """Let the others look."""
        tell({"finished": True})

    def saved(self, what: str) -> None:
        """Say what was saved before this worker ends, because a signal came."""
        tell({"saved": what})

    def prints(self) -> bool:
        """Wait until all workers have come to the end; return whether this one prints the table."""
        self._ready = True
        tell({"ready": True})
        self._last.wait()
        if self._printing:
            sys.stdout.flush()
            os.dup2(self._output, 1)
        return self._printing

    def _listen(self) -> None:
        """Follow the words that come, until they end."""
        with open(0, encoding="utf-8", closefd=False) as words:
            for word in map(str.strip, words):
                if word == LOOK:
                    self._look.set()
                elif word == PRINT:
                    self._printing = True
                    self._last.set()
        if self._ready:
            self._last.set()
            return
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(SECONDS_TO_SAVE)
        os._exit(os.EX_TEMPFAIL)


def tell(message: Any) -> None:
    """Send a message to the process that started this one."""
    try:
        os.write(2, f"{MARK}{json.dumps(message)}\n".encode())
    except OSError:  # it has died, which `Worker` notices
        return
