"""Durations, written as SLURM writes them: HH:MM:SS, or D-HH:MM:SS."""

import re

from attnjax.errors import UserError

WRITTEN = re.compile(r"(?:(\d{1,3})-)?(\d{1,3}):([0-5]\d):([0-5]\d)")


def seconds(written: str) -> int:
    """A duration in seconds.

    Raises:
        UserError: the duration is written in another way, or it is zero.
    """
    found = WRITTEN.fullmatch(written)
    total = 0
    for number, size in zip(found.groups() if found else (), (24, 60, 60, 1), strict=False):
        total = (total + int(number or 0)) * size
    if not total:
        raise UserError(f"time: wanted HH:MM:SS or D-HH:MM:SS, such as 08:00:00; got {written!r}")
    return total
