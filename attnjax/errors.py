"""Errors that a user can correct, and warnings; the command line prints each as one sentence."""

import difflib
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path


class UserError(ValueError):
    """A mistake of the user: the message says what was wanted and what came; the exit code is 2."""


class MachineError(UserError):
    """An obstacle of the machine or of another process: a full disk, a locked folder.

    The error concerns every run, unlike one that training or measuring a single run raises.
    """


class NoCorpus(UserError):
    """A corpus is not on this machine; commands that do not need it can still go on."""


class Diverged(UserError):
    """Runs have diverged: a loss or a gradient is not finite. The others of their group went on.

    Attributes:
        errors: the sentence for each of the runs, by its folder.
    """

    def __init__(self, errors: Mapping[Path, UserError]) -> None:
        """Set the errors; the message is the first of them."""
        super().__init__(str(next(iter(errors.values()))))
        self.errors = errors


class Interrupted(Exception):
    """Ctrl-C or a batch system's signal came, and everything is saved.

    The command line says how to resume; its exit code is 75, which asks a batch system to queue the
    job again.
    """

    def __init__(self, message: str, number: int = signal.SIGINT) -> None:
        """Set the message, which says what is saved, and the number of the signal."""
        super().__init__(message)
        self.signal = number


def message(error: BaseException) -> str:
    """Return an error's message; the method of a user's own class may raise an error itself."""
    try:
        return str(error)
    except Exception:
        return "its message cannot be read"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return (message(error).splitlines() or [""])[0]


def one_line(text: str) -> str:
    """Escape the line breaks and other control characters of a text."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def named(names: Iterable[str], most: int = 6) -> str:
    """List at most `most` names for a sentence: "a, b, c and 5 more"."""
    names = [*names]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def exhausted(error: Exception) -> bool:
    """Return whether an error means that there is not enough memory."""
    # JAX raises a RuntimeError; JAX is not imported here to name its class
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in message(error)


def warn(sentence: str) -> None:
    """Print a warning on standard error; the command goes on."""
    print(f"attnjax: warning: {one_line(sentence)}", file=sys.stderr)


def unknown(what: str, name: object, known: Iterable[str]) -> UserError:
    """Return the error for an unknown name, with the nearest known one or all to choose from.

    Args:
        what: the kind of thing that is named, "variant".
        name: the name that was given.
        known: the names that exist.
    """
    choices = sorted(set(known))
    near = difflib.get_close_matches(str(name), choices, n=1)
    if near:
        hint = f"; did you mean {near[0]}?"
    else:
        hint = f"; choose from {', '.join(choices)}" if choices else "; there is none"
    return UserError(f"unknown {what} {name!r}{hint}")
