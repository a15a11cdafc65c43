"""Tokenization by all cores: processes work on chunks of examples; results come in order."""

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import batched
from multiprocessing import current_process, parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any

from attnjax.data.corpus import Example
from attnjax.errors import MachineError

CHUNK = 10_000
"""The number of examples that a process gets at once."""


def map_chunks[Result](
    call: Callable[[tuple[Example, ...]], Result], examples: Iterable[Example], processes: int
) -> Iterator[Result]:
    """Yield a function's result for each chunk of examples; few chunks are in memory at a time.

    `processes` processes call the function, which can be pickled; 0: this process does, and so
    does a worker of a `multiprocessing.Pool`, which may start no processes.
    """
    chunks = batched(examples, CHUNK)
    if not processes or current_process().daemon:
        yield from map(call, chunks)
        return
    # spawned: a process with the threads of JAX cannot be forked
    pool = ProcessPoolExecutor(processes, _Context(), _begin, (call,))
    waiting: deque[Future[Result]] = deque()
    try:
        for chunk in chunks:
            waiting.append(pool.submit(_called, chunk))
            if len(waiting) > 2 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise MachineError(
            "a process that tokenizes the corpus was killed, perhaps for want of memory; the same "
            "command goes on"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


class _Process(SpawnProcess):
    """A process that does not import the main module of the program that starts it.

    It calls nothing of the main module, which may be a script without a guard: that would begin the
    same preparation and wait for this one.
    """

    def start(self) -> None:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class _Context(SpawnContext):
    Process = _Process


_call: Callable[[tuple[Example, ...]], Any]
"""The function that a process calls with each chunk."""


def _begin(call: Callable[[tuple[Example, ...]], Any]) -> None:
    """Prepare a process: it ends with its parent, even if that is killed, and not at Ctrl-C."""
    global _call
    _call = call
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _called(examples: tuple[Example, ...]) -> Any:
    return _call(examples)
