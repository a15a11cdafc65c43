"""Batches are made, and put on the devices, while the devices compute the steps before."""

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread

AHEAD = 2  # the number of batches that wait for their step, on the devices already
SECONDS_TO_END = 10.0  # how long the end of a training waits for the batch that is being made


class ReadAhead[T]:
    """Makes the values make(number) of the numbers before `end`, in a thread, a few ahead."""

    def __init__(self, make: Callable[[int], T], *, end: int) -> None:
        self._make, self._end = make, end
        self._values: dict[int, Future[T]] = {}
        self._thread: Thread | None = None

    def take(self, number: int) -> T:
        """The value of a number, or its error; those of the next numbers are made meanwhile."""
        if number not in self._values:
            self.close()
            self._wanted = SimpleQueue[tuple[int, Future[T]] | None]()
            # a daemon: no value that takes for ever keeps the program from ending
            self._thread = Thread(
                target=_make_all, args=(self._make, self._wanted), name="read ahead", daemon=True
            )
            self._thread.start()
        for wanted in range(number, min(number + AHEAD + 1, self._end)):
            if wanted not in self._values:
                self._values[wanted] = Future()
                self._wanted.put((wanted, self._values[wanted]))
        return self._values.pop(number).result()

    def close(self) -> None:
        for value in self._values.values():
            value.cancel()
        self._values.clear()
        if self._thread is not None:
            self._wanted.put(None)
            self._thread.join(SECONDS_TO_END)
        self._thread = None


def _make_all[T](
    make: Callable[[int], T], wanted: SimpleQueue[tuple[int, Future[T]] | None]
) -> None:
    while (item := wanted.get()) is not None:
        number, value = item
        if value.set_running_or_notify_cancel():
            try:
                value.set_result(make(number))
            except BaseException as error:  # raised by `take`
                value.set_exception(error)
