"""One process at a time works on a folder; the others wait, and say so."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attnjax.errors import MachineError

SECONDS_OF_SILENCE = 60.0
"""Where there are no locks, a process that gives no sign for so long has ended."""

NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)
"""The errors of file systems without locks."""


@contextmanager
def alone(folder: Path, say: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Be the only process that works on a folder; the folder above is made.

    Where the file system has no locks, a file beside the folder gives signs of life. The function
    that is given refuses to go on once another process has taken over.

    Raises:
        OSError: the folder above cannot be written to.
        MachineError: this process was silent for too long, and another one has taken over.
    """
    from filelock import FileLock, SoftFileLease

    folder.parent.mkdir(parents=True, exist_ok=True)
    lease = None
    try:
        lock = _acquired(FileLock(f"{folder}.lock", fallback_to_soft=False), folder, say)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        lease = SoftFileLease(f"{folder}.lease", lease_duration=SECONDS_OF_SILENCE)
        lock = _acquired(lease, folder, say)

    def check() -> None:
        if lease is not None and lease.compromise is not None:
            raise MachineError(
                f"{folder} was taken over by another process, because this one gave no sign of "
                "life; repeat the command once that process has ended"
            )

    with lock:
        yield check


def _acquired(lock: Any, folder: Path, say: Callable[[str], None]) -> Any:
    from filelock import Timeout

    try:
        return lock.acquire(blocking=False)
    except Timeout:
        say(f"data: waits for another process that prepares {folder}")
        return lock.acquire(poll_interval=0.5)
