"""What this process may use of its machine."""

import os
from pathlib import Path

THREADS = "NPROC"
"""The environment variable by which XLA computes with so many threads on a CPU."""

QUOTA, QUOTA_1 = Path("/sys/fs/cgroup/cpu.max"), Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
"""Where Linux says how much of the time of cores a container gets, in today's and older form."""

SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
"""Where Linux lists the cores that are threads of one physical core, such as "0,8" or "0-1"."""


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS does not say
        threads = os.environ.get(THREADS, "")
        return int(threads) if threads.isdecimal() and int(threads) else os.cpu_count() or 1


def cores() -> list[int]:
    """Return the numbers of the cores that this process may use, those to be bound to first first.

    The first threads of all physical cores come before the second. There are no more than a
    container's quota of time is worth.
    """
    try:
        own = sorted(os.sched_getaffinity(0))
    except AttributeError:
        own = [*range(usable_cores())]
    ordered = sorted(own, key=lambda core: (_thread(Path(SIBLINGS.format(core)), core), core))
    return ordered[: quota(QUOTA, QUOTA_1) or len(ordered)]


def quota(today: Path, older: Path) -> int | None:
    """Return how many cores a container's share of time is worth, at least 1; None: there is none.

    The files are those of the two versions of Linux's control groups.
    """
    try:
        if today.exists():
            most, period = today.read_text().split()
        else:
            most, period = older.read_text(), older.with_name("cpu.cfs_period_us").read_text()
        # -1 or "max" is no limit
        return None if most.strip() in ("max", "-1") else max(1, round(int(most) / int(period)))
    except (OSError, ValueError):
        return None


def _thread(siblings: Path, core: int) -> int:
    """Return which thread of its physical core a core is, from 0."""
    before = 0
    try:
        for word in siblings.read_text().split(","):
            first, _, last = word.partition("-")
            before += sum(other < core for other in range(int(first), int(last or first) + 1))
    except (OSError, ValueError):
        return 0
    return before
