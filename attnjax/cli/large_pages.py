"""Large pages for the arrays of a CPU: asked for before a process starts, so it starts anew.

A training step gives its arrays back and takes them again, and the system hands out every page
empty: with pages of 2 MiB, 512 times less often.
"""

import os
import signal
import sys
from collections.abc import Mapping

TUNABLES, SWITCH = "GLIBC_TUNABLES", "glibc.malloc.hugetlb"


def with_large_pages(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which the C library asks for large pages; a value that is set stays.

    Only glibc reads it. It asks by madvise, so a system without large pages changes nothing.
    """
    tunables = environment.get(TUNABLES, "")
    if SWITCH in tunables:
        return dict(environment)
    return {**environment, TUNABLES: ":".join(filter(None, (tunables, f"{SWITCH}=1")))}


def start_with_large_pages() -> None:
    """Replace this process by the same command with large pages, unless it has them."""
    environment = with_large_pages(os.environ)
    if sys.platform == "linux" and sys.executable and environment != dict(os.environ):
        # Ctrl-C waits until the new program handles it: Python's start would print a traceback
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
