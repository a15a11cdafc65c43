"""Leases: which process trains a run, so that several machines can share a folder.

    <run's folder>/lease-<n>.json    the machine, process and time of the n-th lease
    <run's folder>/lock              locked by the holder, if the file system has locks

The highest number holds the run. A lease is a new file, which is atomic on network file systems,
too. A holder touches its lease every `SECONDS_BETWEEN_SIGNS`. A run is free if its lease was
released, if its holder was a process of this machine that no longer holds the lock, or if its
holder has given no sign for `SECONDS_OF_SILENCE` and holds no lock that can be seen from here. A
holder that finds a higher number has lost the run, and stops.
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

from annotated_types import Ge, Lt
from filelock import FileLock, Timeout

from attnjax.config.read_json import WholeNumber, read_record
from attnjax.config.serialize import parse_json
from attnjax.errors import Interrupted, MachineError
from attnjax.files import plain_file
from attnjax.lab.checkpoints.disk import writable
from attnjax.lab.runs.json_files import write_json

LOCK = "lock"
SECONDS_BETWEEN_SIGNS, SECONDS_OF_SILENCE = 15.0, 120.0


@dataclass(frozen=True)
class Lease:
    """The content of a lease; `since` is when the run was taken, in seconds since 1970.

    `machine` tells machines of one name apart, and a machine from itself before a restart.
    """

    host: str
    machine: str
    pid: WholeNumber
    since: Annotated[float, Ge(0), Lt(2**40)]
    locked: bool
    released: bool = False


UNKNOWN = Lease("an unknown machine", machine="", pid=0, since=0.0, locked=False)
"""What is known of a lease while it is being written."""


class Holder(NamedTuple):
    """The process that trains a run, and the seconds since its last sign of life."""

    lease: Lease
    silence: float

    def __str__(self) -> str:
        return (
            f"process {self.lease.pid} of {self.lease.host}, since "
            f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(self.lease.since))}, last sign of "
            f"life {max(self.silence, 0):.0f} s ago"
        )


class Taken(MachineError):
    """Another process trains the run, whose name is VARIANT/seed-N."""

    def __init__(self, folder: Path, sentence: str) -> None:
        super().__init__(f"{folder} {sentence}")
        self.run = "/".join(folder.parts[-2:])


class Lost(Taken):
    """This process has lost the run to another one, because it was silent for so long."""


@dataclass(frozen=True)
class Leases:
    """Leases of this process on runs: the number of each."""

    numbers: dict[Path, int]

    def check(self) -> None:
        """Refuse to go on with a run that this process has lost."""
        for folder, number in self.numbers.items():
            if _latest(folder) > number:
                raise Lost(
                    folder,
                    "was taken over by another machine, because this process gave no sign of life; "
                    "it stops training the run",
                )

    def touch(self) -> None:
        """Give a sign of life."""
        for folder, number in self.numbers.items():
            with suppress(OSError):  # a network file system may be away for a while
                os.utime(_path(folder, number))


@contextmanager
def leased(folders: Sequence[Path]) -> Iterator[Leases]:
    """Make the runs' folders, and lease all the runs or none.

    Raises:
        MachineError: the block has failed, and the file system of the first folder with it.
        Taken: another process trains one of the runs.
        Lost: the block has failed, and another process has taken a run over: that is why.
    """
    with writable(folders[0]), ExitStack() as held:
        leases = Leases({folder: _take(folder, held) for folder in folders})
        ended = threading.Event()

        def live() -> None:
            while not ended.wait(SECONDS_BETWEEN_SIGNS):
                leases.touch()

        held.callback(ended.set)
        threading.Thread(target=live, name="signs of life", daemon=True).start()
        try:
            yield leases
        except Interrupted:
            raise
        except Exception:
            leases.check()
            raise


def holder(folder: Path) -> Holder | None:
    """Return the process that trains the run in a folder; None: no process does."""
    with ExitStack() as held:
        # looking makes no lock: what was never locked could be locked now
        locked = _lock(folder, held) if (folder / LOCK).exists() else True
        return _holder(folder, locked=locked, now=time.time())


def _take(folder: Path, held: ExitStack) -> int:
    """Lease a run until `held` is closed; return the lease's number."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(f"the folder {folder} cannot be made: {error.strerror}") from error
    _refuse_links(folder)
    before = _latest(folder)
    locked = _lock(folder, held)
    (folder / LOCK).touch()
    # the time of the file system, because the clocks of machines differ
    other = _holder(folder, locked=locked, now=(folder / LOCK).stat().st_mtime)
    if other is not None:
        raise Taken(folder, f"is being trained by another process ({other})")
    number, overtaken = before + 1, Taken(folder, "was taken by another process at this moment")
    try:
        _path(folder, number).touch(exist_ok=False)
    except FileExistsError as error:
        raise overtaken from error
    if _latest(folder) != number:
        raise overtaken
    mine = Lease(socket.gethostname(), _machine(), os.getpid(), time.time(), bool(locked))
    write_json(_path(folder, number), asdict(mine))
    held.callback(_release, folder, number, mine)
    for earlier in range(1, number):
        _path(folder, earlier).unlink(missing_ok=True)
    return number


def _refuse_links(folder: Path) -> None:
    """Refuse a run's folder with symbolic links: through them a run would change other folders."""
    for path in (*folder.glob("*"), *folder.glob("*/*")):
        if path.is_symlink():
            raise MachineError(
                f"{path} is a symbolic link, and a run writes into its own folder alone: put the "
                "file or folder itself in its place"
            )


def _holder(folder: Path, *, locked: bool | None, now: float) -> Holder | None:
    """Return the holder of a run other than this process.

    `locked` says whether this process got the lock; None: the file system has no locks.
    """
    path = _path(folder, _latest(folder))
    try:
        lease, silence = _read(path), now - path.stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        lease, silence = UNKNOWN, 0.0
    else:
        if lease.machine != _machine() or not lease.locked or locked is None:
            # a sign from the future is of a clock that was ahead: a living process gives others
            alive = not lease.released and abs(silence) < SECONDS_OF_SILENCE
            return Holder(lease, silence) if alive else None
    # the lock tells at once whether a process of this machine has ended
    return Holder(lease, silence) if locked is False else None


def _lock(folder: Path, held: ExitStack) -> bool | None:
    """Lock a run's folder until `held` is closed; see `_holder` for the result."""
    try:
        held.enter_context(FileLock(folder / LOCK, blocking=False, fallback_to_soft=False))
    except Timeout:
        return False
    except OSError:
        return None
    return True


def _latest(folder: Path) -> int:
    """Return the number of the latest lease; 0: the run was never leased."""
    numbers = (path.stem.removeprefix("lease-") for path in folder.glob("lease-*.json"))
    whole = (int(number) for number in numbers if number.isascii() and number.isdigit())
    return max(whole, default=0)


def _path(folder: Path, number: int) -> Path:
    return folder / f"lease-{number}.json"


def _read(path: Path) -> Lease:
    """Read a lease; one that is being written, or is damaged, is that of an unknown process."""
    try:
        return read_record(parse_json(plain_file(path).read_text(encoding="utf-8")), Lease, path)
    except ValueError:
        return UNKNOWN


def _release(folder: Path, number: int, mine: Lease) -> None:
    if _latest(folder) == number:
        # without room for that a process of this machine sees the lock, others wait for a sign
        with suppress(OSError):
            write_json(_path(folder, number), asdict(replace(mine, released=True)))


@cache
def _machine() -> str:
    """Return an identifier of this machine and boot."""
    try:
        # a container's processes are not seen from other containers of the machine
        started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{started} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return f"{socket.gethostname()} {uuid.getnode():x}"
