"""Standard output, and the cache of compiled programs that commands share."""

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO, cast

from attnjax.config.console import PlainConsole, print_line, printable


class _Output(PlainConsole):
    """Standard output; if the reader closes it, `main` handles the error."""

    def on_broken_pipe(self) -> None:
        raise


def open_streams() -> None:
    """Make standard output and error accept everything, so that no run ends by their errors.

    A letter that an encoding lacks is written as an escape. A closed stream becomes the null
    device. What standard error cannot take is dropped.
    """
    if sys.stdout is None:
        sys.stdout = _null(1)
    elif isinstance(sys.stdout, io.TextIOWrapper):  # not in a notebook, whose takes all letters
        sys.stdout.reconfigure(errors="backslashreplace")
    if not isinstance(sys.stderr, _Unheard):
        sys.stderr = cast(TextIO, _Unheard(sys.stderr or _null(2)))


class _Unheard:
    """A stream whose reader may go away."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _null(number: int) -> TextIO:
    """Open the null device in place of a closed descriptor."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.fstat(number)
    except OSError:
        # else the next file that is opened gets the number, and what a library prints
        os.dup2(null, number)
    return open(null, "w", encoding="utf-8", errors="backslashreplace")


def write_utf8() -> None:
    """Write UTF-8 to standard output from now on: answers and JSON, which programs read."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def out() -> PlainConsole:
    """Return a console as wide as the terminal; output to a file or a program is never cut."""
    return _Output(file=sys.stdout, width=None if sys.stdout.isatty() else 10_000)


def say(sentence: str) -> None:
    """Print a line as it is, however long."""
    print_line(out(), sentence)


def say_answer(line: str) -> None:
    """Print a line of data as it is; on a terminal, without control characters."""
    print(printable(line) if sys.stdout.isatty() else line)


def keep_compiled() -> None:
    """Keep compiled programs in the user's cache, if the user has a home or a cache."""
    import jax

    if jax.config.jax_compilation_cache_dir is None:
        try:
            cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        except RuntimeError:  # there is no home
            return
        jax.config.update("jax_compilation_cache_dir", str(Path(cache) / "attnjax" / "compiled"))
        # short programs too: drawing the initial parameters takes a hundred of them
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
