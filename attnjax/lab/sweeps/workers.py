"""Workers: processes that share the sweep of a command, each on a device of its own.

They are started with the words of the command, find their work as processes started by hand do, and
end by themselves once this process has died, see `worker`. This process shows what they say, passes
signals on, and lets one of them print what a single process prints at its end. It never imports
JAX.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

from rich.progress import TaskID

from attnjax.config.console import PlainConsole, bars, print_line
from attnjax.errors import Interrupted, MachineError, named
from attnjax.lab.sweeps.worker import LOOK, MARK, PRINT, ROLE, Role
from attnjax.lab.sweeps.worker_devices import WorkerDevice

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)

SECONDS_BETWEEN_LOOKS = 0.5
"""The longest time until the end of a worker is noticed whose own processes hold its output."""

MISTAKE = 2
"""The exit code of a worker that has said what a user can correct."""

INTERRUPTED = "attnjax: interrupted"
"""How the line of a process begins that a signal ended; after a signal there is one for all."""


@dataclass(eq=False, kw_only=True)
class Process:
    """A worker as this process sees it.

    Attributes:
        number: its number in sentences, from 1.
        row: that of its bar.
        unfinished: the line that it has begun to write.
        ready: whether it has come to the end of the sweep.
        waits: the sentence on what it waits for; "": it does not wait, as far as is known.
    """

    number: int
    popen: subprocess.Popen[bytes]
    row: TaskID
    unfinished: bytes = b""
    ready: bool = False
    waits: str = ""

    @property
    def output(self) -> int:
        """The descriptor of what it writes."""
        assert self.popen.stderr is not None
        return self.popen.stderr.fileno()

    def send(self, word: str) -> None:
        """Send a word; one that has ended, or is let end, needs none."""
        assert self.popen.stdin is not None
        with suppress(OSError, ValueError):
            os.write(self.popen.stdin.fileno(), f"{word}\n".encode())

    def dismiss(self) -> None:
        """Let a worker that is ready end."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()

    def close(self) -> None:
        """Close what connects this process to one that has ended."""
        self.dismiss()
        assert self.popen.stderr is not None
        self.popen.stderr.close()


class Screen:
    """What a command shows of its workers: their lines, and a bar for each in a terminal."""

    def __init__(self, console: PlainConsole) -> None:
        self.bars, self.drawn = bars(console), console.is_terminal
        self._console = console
        self._said: dict[str, int] = {}

    def row(self) -> TaskID:
        """Return the row of a new worker's bar."""
        return self.bars.add_task("", visible=False, loss="", valid="", speed="")

    def say(self, line: str, worker: Process) -> None:
        """Show a line that no other worker has said: they find out the same."""
        if self._said.setdefault(line, worker.number) == worker.number:
            print_line(self._console, line)

    def draw(self, row: TaskID, bar: dict[str, Any] | None) -> None:
        """Draw a worker's bar as it is told; None: it has ended."""
        if bar is None:
            self.bars.update(row, visible=False)
            return
        drawn = self.bars.tasks[row]
        if (drawn.description, drawn.total) != (bar["description"], bar["total"]):
            self.bars.reset(row)
        self.bars.update(row, visible=True, **bar)


class Workers:
    """The workers of a command."""

    def __init__(self, console: PlainConsole) -> None:
        """Begin without any."""
        self._screen = Screen(console)
        self._selector = selectors.DefaultSelector()
        self._running: list[Process] = []
        self._codes: list[int] = []  # of those that have ended
        self._saved: list[str] = []  # what they have, when they were interrupted
        self._signals: set[int] = set()  # those that have come

    def start(self, command: Sequence[str], devices: Sequence[WorkerDevice]) -> None:
        """Start a worker for each device."""
        drawn = self._screen.drawn
        for place, device in enumerate(devices):
            role = Role(place=place, count=len(devices), core=device.core, drawn=drawn)
            popen = subprocess.Popen(
                command,
                env={**device.of(os.environ), ROLE: role.words()},
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C comes to this process alone, which passes it on
            )
            worker = Process(number=place + 1, popen=popen, row=self._screen.row())
            self._running.append(worker)
            self._selector.register(worker.output, selectors.EVENT_READ, worker)
            if self._signals:  # one may have come just before this worker was there
                popen.send_signal(signal.SIGINT)
                return

    def watch(self) -> int:
        """Show what the workers say until all have ended, and return the command's exit code.

        Raises:
            Interrupted: a signal came, and the workers have saved.
            KeyboardInterrupt: Ctrl-C came while nothing was trained.
            MachineError: all workers have died.
        """
        with self._screen.bars:
            while self._running and not all(worker.ready for worker in self._running):
                self._look()
        printing = self._running[0] if self._running else None
        for worker in self._running:
            if worker is printing:
                worker.send(PRINT)
            else:
                worker.dismiss()
        while self._running:
            self._look()
        printed = None if printing is None else printing.popen.returncode
        return _exit_code(printed, self._codes, self._saved, self._signals)

    def interrupt(self, number: int) -> bool:
        """Ask the workers to save and end; return whether such a signal came before."""
        again = number in self._signals
        # they are sent one kind alone: a batch system may have sent its own to all processes
        for worker in self._running if not self._signals else ():
            worker.popen.send_signal(signal.SIGINT)
        self._signals.add(number)
        return again

    def kill(self) -> None:
        """End the workers at once; the files of runs are whole at any moment."""
        for worker in self._running:
            worker.popen.kill()
        for worker in self._running:
            worker.popen.wait()

    def close(self) -> None:
        """End the workers that are left, and close what connects this process to them."""
        self.kill()
        for worker in self._running:
            worker.close()
        self._selector.close()

    def _look(self) -> None:
        """Wait for what workers write, show it, and notice which have ended."""
        for key, _ in self._selector.select(SECONDS_BETWEEN_LOOKS):
            self._read(key.data)
        for worker in [*self._running]:
            if worker.popen.poll() is not None:
                self._end(worker)

    def _read(self, worker: Process) -> bool:
        """Show what a worker has written; return whether there was anything."""
        written = os.read(worker.output, 1 << 16)
        *lines, worker.unfinished = (worker.unfinished + written).split(b"\n")
        if not written and worker.unfinished:
            lines, worker.unfinished = [worker.unfinished], b""
        for line in lines:
            self._follow(worker, line.decode(errors="backslashreplace"))
        return bool(written)

    def _follow(self, worker: Process, line: str) -> None:
        """Show a line, or follow a message."""
        worker.waits = ""
        if not line.startswith(MARK):
            if not (self._signals and line.startswith(INTERRUPTED)):
                self._screen.say(line, worker)
            return
        message = json.loads(line.removeprefix(MARK))
        if "bar" in message:
            self._screen.draw(worker.row, message["bar"])
        elif "saved" in message:
            self._saved.append(message["saved"])
        elif "ready" in message:
            worker.ready = True
        elif "waits" in message:
            worker.waits = message["waits"]
            if all(other.waits for other in self._running):
                self._screen.say(worker.waits, worker)
        else:
            self._let_others_look(worker)

    def _let_others_look(self, worker: Process) -> None:
        for other in self._running:
            if other is not worker:
                other.waits = ""
                other.send(LOOK)

    def _end(self, worker: Process) -> None:
        """Note that a worker has ended, and say so if it has died."""
        os.set_blocking(worker.output, False)
        with suppress(BlockingIOError):  # processes that it had started hold its output
            while self._read(worker):
                pass
        self._selector.unregister(worker.output)
        worker.close()
        self._screen.draw(worker.row, None)
        self._running.remove(worker)
        code = worker.popen.returncode
        self._codes.append(code)
        if not self._signals and not worker.ready and code != MISTAKE:
            others = "; the others take up its runs" if self._running else ""
            self._screen.say(f"worker {worker.number} {_how(code)}{others}", worker)
        self._let_others_look(worker)


def _exit_code(
    printed: int | None, codes: Sequence[int], saved: Sequence[str], signals: Set[int]
) -> int:
    """Return the exit code of a command; see `Workers.watch` for what is raised.

    Args:
        printed: that of the worker that printed; None: none did.
        codes: those of all workers.
        saved: what they saved when they were interrupted.
        signals: those that came to the command.
    """
    if printed is not None and printed >= 0 and not signals:
        return printed
    if MISTAKE in codes:
        return MISTAKE
    if saved or signals - {signal.SIGINT}:
        raise Interrupted(named(saved or [signal.Signals(number).name for number in signals]))
    if signals:
        raise KeyboardInterrupt
    if os.EX_TEMPFAIL in codes:
        return os.EX_TEMPFAIL
    raise MachineError(
        "no worker is left to go on, see above; the same command goes on from what is saved"
    )


def _how(code: int) -> str:
    """Say how a process has ended."""
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with the exit code {code}"


def work(command: Sequence[str], devices: Sequence[WorkerDevice], console: PlainConsole) -> int:
    """Run a command by workers, one for each device, and return its exit code; see `watch`."""
    workers = Workers(console)
    with _passing_on(workers):
        try:
            workers.start(command, devices)
            return workers.watch()
        finally:
            workers.close()


def command_line(words: Sequence[str]) -> list[str]:
    """Return the command of a process that runs `attnjax` with these words as this one does."""
    # with the current folder on Python's path if this process has it there
    here = "" in sys.path or os.getcwd() in sys.path
    return [sys.executable, *([] if here else ["-P"]), "-m", "attnjax", *words]


@contextmanager
def _passing_on(workers: Workers) -> Iterator[None]:
    """Pass the first signal on to the workers; the second of a kind ends all at once."""
    # None stands for a handler that was not installed from Python
    before: dict[int, Any] = {
        number: signal.getsignal(number) or signal.SIG_DFL for number in SIGNALS
    }

    def handle(number: int, frame: FrameType | None) -> None:
        if workers.interrupt(number):
            workers.kill()
            signal.signal(number, before[number])
            signal.raise_signal(number)

    for number in SIGNALS:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
