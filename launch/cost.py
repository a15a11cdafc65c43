"""What a launch may take, and the question before it."""

import re
import sys

from attnjax.errors import UserError

TIME = re.compile(r"(?:(\d{1,3})-)?(\d{1,3}):([0-5]\d):([0-5]\d)")


def seconds(time: str) -> int:
    """A duration in seconds, written as SLURM writes it: HH:MM:SS, or D-HH:MM:SS."""
    match = TIME.fullmatch(time)
    days, hours, minutes, rest = (int(each or 0) for each in match.groups()) if match else [0] * 4
    total = ((days * 24 + hours) * 60 + minutes) * 60 + rest
    if not total:
        raise UserError(f"time: wanted HH:MM:SS or D-HH:MM:SS, such as 08:00:00; got {time!r}")
    return total


def cost(jobs: int, hosts: int, time: str, price: float | None, currency: str) -> str:
    """The most that a launch takes, in a line: hosts times hours and, with a price, money.

    The time is the limit of an attempt of a job, the price that of a host for an hour.
    """
    hours = seconds(time) / 3600
    total = jobs * hosts * hours
    each = f"{_count(jobs, 'job')} x {_count(hosts, 'host')}"
    line = f"{each} x {hours:.3g} h = {total:,.4g} host-hours"
    if price is not None:
        line += f" = {total * price:,.2f} {currency}"
    return f"{line} at most; a job that is started again takes its time once more"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def consent(question: str, *, yes: bool) -> None:
    """Ask before something is started or ended."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UserError(f"{question} cannot be asked without a terminal; repeat with --yes")
    if input(f"{question} [y/N] ").strip().lower() not in ("y", "yes"):
        raise UserError("nothing was done")
