"""What a launch may cost, and the question before it."""

import sys
from collections.abc import Mapping
from math import prod

from attnjax.errors import UserError


def cost(counts: Mapping[str, int], seconds: int, price: float | None, currency: str) -> str:
    """The most that a launch takes, in a line: hosts times hours and, with a price, money.

    Args:
        counts: {"run": 4, "host": 2} are four runs of two hosts each; the last one has the price.
        seconds: the longest that one attempt of a run may take.
        price: of the last of `counts`, an hour; None: unknown.
        currency: of the price.
    """
    hours = seconds / 3600
    total = prod(counts.values()) * hours
    each = " x ".join(_count(number, word) for word, number in counts.items())
    line = f"{each} x {hours:.3g} h = {total:,.4g} {[*counts][-1]}-hours"
    if price is not None:
        line += f" = {total * price:,.2f} {currency}"
    return f"{line} at most; a run that is started again takes its time once more"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def consent(question: str, *, yes: bool) -> None:
    """Ask before something is started or deleted.

    Raises:
        UserError: the answer is no, or there is nobody to ask.
    """
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UserError(f"{question} cannot be asked without a terminal; repeat with --yes")
    if input(f"{question} [y/N] ").strip().lower() not in ("y", "yes"):
        raise UserError("nothing was done")
