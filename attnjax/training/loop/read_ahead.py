"""Batches are made, and put on the devices, while the devices compute the steps before."""

import threading
from collections.abc import Callable
from queue import Empty, Full, Queue

AHEAD = 2
"""The number of batches that wait for their step; each is on the devices already."""

SECONDS_TO_END = 10.0
"""How long the end of a training waits for the batch that is being made."""


class ReadAhead[T]:
    """Makes values number by number in one thread, a few before they are asked for.

    An error in the making is raised where the value is asked for.
    """

    def __init__(self, make: Callable[[int], T], *, end: int) -> None:
        """Make the values make(number) of the numbers before `end`."""
        self._make, self._end, self._next = make, end, -1
        self._making: _Making[T] | None = None

    def take(self, number: int) -> T:
        """The value of a number; those of the next numbers are made meanwhile."""
        if self._making is None or number != self._next:
            self.close()
            self._making = _Making(self._make, number, self._end)
        self._next = number + 1
        return self._making.take()

    def close(self) -> None:
        """End the thread, and forget what was made."""
        if self._making is not None:
            self._making.close()
        self._making = None


class _Making[T]:
    """The thread, from a number on."""

    def __init__(self, make: Callable[[int], T], begin: int, end: int) -> None:
        self._values: Queue[tuple[T | None, BaseException | None]] = Queue(AHEAD)
        self._closed = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(make, begin, end), name="read ahead", daemon=True
        )
        self._thread.start()

    def take(self) -> T:
        value, error = self._values.get()
        if error is not None:
            raise error
        return value  # pyright: ignore[reportReturnType]  # None only beside an error

    def close(self) -> None:
        self._closed.set()
        # room for the value that the thread may be waiting to hand over
        while not self._values.empty():
            try:
                self._values.get_nowait()
            except Empty:
                break
        self._thread.join(SECONDS_TO_END)

    def _run(self, make: Callable[[int], T], begin: int, end: int) -> None:
        for number in range(begin, end):
            if self._closed.is_set():
                return
            try:
                handed = make(number), None
            except BaseException as error:  # raised by `take`
                handed = None, error
            if not self._hand_over(handed) or handed[1] is not None:
                return

    def _hand_over(self, handed: tuple[T | None, BaseException | None]) -> bool:
        """Wait for room in the queue; False: the thread is to end."""
        while not self._closed.is_set():
            try:
                self._values.put(handed, timeout=0.1)
                return True
            except Full:
                continue
        return False
