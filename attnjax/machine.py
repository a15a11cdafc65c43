"""What this process may use of its machine."""

import os


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS does not say
        return os.cpu_count() or 1
