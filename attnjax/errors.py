"""Errors that a user can mend; the command line prints them as one sentence."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A mistake in what the user gave: what was wanted and what came; the exit code is 2."""


class NoCorpus(UserError):
    """A corpus is not on this machine; what does not need it can still be told."""


class Interrupted(Exception):
    """Ctrl-C, after everything is saved; the command line says how to resume, exit code 130."""


def unknown(what: str, name: object, known: Iterable[str]) -> UserError:
    """The error for a name that does not exist: the nearest known one, or all to choose from.

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
