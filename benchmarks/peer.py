"""Another engine that does the same work, in its own process with its own Python."""

import json
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Self

from attnjax.errors import UserError

PROGRAMS = Path(__file__).with_name("peers")


class Peer:
    """A program of `peers`; within `with` it is warm and waits for its turn.

    `engine` is its name and version. Without the interpreter or what the program needs, or if it
    stops, a UserError is raised.
    """

    engine: str

    def __init__(self, python: Path, program: str, *arguments: str) -> None:
        self._python, self._program = python, program
        self._command = [str(python), str(PROGRAMS / program), *arguments]

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            # a file, since a pipe that nobody reads would block a program that prints much
            self._errors = opened.enter_context(TemporaryFile("w+"))
            # closing what a program that has stopped did not read
            opened.enter_context(suppress(BrokenPipeError))
            try:
                started = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    text=True,
                    bufsize=1,
                )
            except OSError as error:
                raise self._no_python(error.strerror) from error
            self._process = opened.enter_context(started)
            opened.callback(self._process.kill)
            greeting = self._answer()
            try:
                content = json.loads(greeting)
                self.engine = f"{content['engine']} {content['version']}"
            except (ValueError, TypeError, KeyError) as error:
                raise self._no_python(f"it said {greeting.strip()[:60]!r}") from error
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def seconds(self, calls: int) -> float:
        """Return the seconds that a number of calls take."""
        assert self._process.stdin is not None
        # if the program has stopped, `_answer` raises the reason
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{calls}\n")
            self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        """Read a line of the program; raise a UserError if it has stopped."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            return line
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        raise UserError(f"the peer {self._program} stopped: {lines[-1] if lines else 'silently'}")

    def _no_python(self, why: str | None) -> UserError:
        return UserError(f"--peer needs a Python interpreter; got {self._python} ({why})")
