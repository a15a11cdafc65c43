"""Another engine at the same work, in a process of its own and with a Python of its own."""

import json
import subprocess
from pathlib import Path
from typing import Self

from attnjax.errors import UserError

PROGRAMS = Path(__file__).with_name("peers")


class Peer:
    """A program of `peers` that is warm and waits for its turn.

    Attributes:
        engine: its name and version.

    Raises:
        UserError: the interpreter or what the program needs is not there.
    """

    def __init__(self, python: Path, program: str, *arguments: str) -> None:
        self._program = program
        command = [str(python), str(PROGRAMS / program), *arguments]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
        except OSError as error:
            raise UserError(
                f"--peer wants a Python interpreter; got {python} ({error.strerror})"
            ) from error
        said = json.loads(self._answer())
        self.engine = f"{said['engine']} {said['version']}"

    def seconds(self, calls: int) -> float:
        """How long so many calls take."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{calls}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            return line
        said = self._process.communicate()[1].strip().splitlines()
        raise UserError(f"the peer {self._program} stopped: {said[-1] if said else 'silently'}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
