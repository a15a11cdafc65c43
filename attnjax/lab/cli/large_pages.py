"""Large memory pages for arrays on a CPU. They are set before a process starts, so it restarts.

A training step frees its arrays and allocates them again, and the system clears every page before
it hands it out. With pages of 2 MiB instead of 4 KiB that happens 512 times less often.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

TUNABLES, SWITCH = "GLIBC_TUNABLES", "glibc.malloc.hugetlb"


def with_large_pages(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which the C library asks for large pages.

    A user's own setting stays.

    Only glibc reads the setting. On a system without large pages it has no effect.
    """
    tunables = environment.get(TUNABLES, "")
    if SWITCH in tunables:
        return dict(environment)
    return {**environment, TUNABLES: ":".join(filter(None, (tunables, f"{SWITCH}=1")))}


WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
"""The options of Python whose value is the next word."""


def is_own_program(words: Sequence[str]) -> bool:
    """Return whether the words after `python` start attnjax, and no program that calls it.

    A debugger, a tool that measures coverage, or a program that runs the module `attnjax` has done
    something before, which a restart would do again.
    """
    rest = iter(words)
    for word in rest:
        if word in WITH_VALUE:
            next(rest, None)
        elif word == "-m":
            return next(rest, "") in ("attnjax", "attnjax.__main__")
        elif not word.startswith("-"):
            return Path(word).name == "attnjax"
        elif word == "-c":
            return False
    return False


def start_with_large_pages() -> None:
    """Restart this process with large pages, unless it has them or is another program's."""
    environment = with_large_pages(os.environ)
    if not is_own_program(sys.orig_argv[1:]):
        return
    if sys.platform == "linux" and sys.executable and environment != dict(os.environ):
        # Ctrl-C waits until the new program handles it: Python's start would print a traceback
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
