"""Standard output, and the cache of compiled programs that commands share."""

import os
import sys
from pathlib import Path

from attnjax.console import PlainConsole, print_line, printable


class _Output(PlainConsole):
    """Standard output; if the reader closes it, `main` handles the error."""

    def on_broken_pipe(self) -> None:
        raise


def out() -> PlainConsole:
    """A console as wide as the terminal; output to a file or a program is never cut."""
    return _Output(file=sys.stdout, width=None if sys.stdout.isatty() else 10_000)


def say(sentence: str) -> None:
    """Print a line as it is, however long."""
    print_line(out(), sentence)


def say_answer(line: str) -> None:
    """Print a line of data: as it is, but on a terminal without control characters."""
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
