"""One sentence in the place of what C++ says when another process has died.

JAX ends this process when the coordinator is gone, or names a process that is: it aborts, with a
page of C++. Nothing asks Python first. So what C++ writes on standard error is held back for a
second, and the handler of the abort looks at it; another abort stays as it is.
"""

import ctypes
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LAST_WORDS = b"the JAX distributed service detected fatal errors"
SECONDS_HELD_BACK = 1.0


@contextmanager
def replaced_by(sentence: str) -> Iterator[None]:
    """End this process with a sentence and the exit code 2 when JAX aborts it in the block."""
    before, stderr, libc = sys.stderr, os.dup(2), ctypes.CDLL(None)
    ended = threading.Event()
    passed = 0  # the bytes that were passed on
    with (
        tempfile.TemporaryFile(buffering=0) as held,
        os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8") as ours,
    ):

        def pass_on() -> None:
            nonlocal passed
            words = os.pread(held.fileno(), 2**20, passed)
            if LAST_WORDS not in words:
                passed += os.write(stderr, words)

        def keep_passing_on() -> None:
            while not ended.wait(SECONDS_HELD_BACK):
                pass_on()

        @ctypes.CFUNCTYPE(None, ctypes.c_int)
        def aborted(_: int) -> None:
            if LAST_WORDS in os.pread(held.fileno(), 2**20, passed):
                os.write(stderr, f"attnjax: {sentence}\n".encode())
                os._exit(2)
            pass_on()

        # Python's own handlers wait for the main thread, which an abort does not
        libc.signal(signal.SIGABRT, aborted)
        thread = threading.Thread(target=keep_passing_on, daemon=True)
        thread.start()
        before.flush()
        os.dup2(held.fileno(), 2)
        sys.stderr = ours
        try:
            yield
        finally:
            sys.stderr = before
            os.dup2(stderr, 2)
            ended.set()
            thread.join()
            pass_on()
            libc.signal(signal.SIGABRT, None)
            os.close(stderr)
