"""Limits on the length of a sentence: parts with one parameter per position."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from attnjax.config.walk import walk


class MaxLength(NamedTuple):
    """The largest number of words of a sentence, END counted, and the field that sets it."""

    words: int
    path: str


class LengthLimited:
    """A part that limits the length of a sentence: learned positions, location scores.

    A model finds these parts in its fields, at any depth.
    """

    max_length: int

    def length_limit(self) -> MaxLength:
        """Return the number of positions, and the name of this part's field that holds it."""
        return MaxLength(self.max_length, "max_length")


def smallest_limit(parts: Mapping[str, Any]) -> MaxLength | None:
    """Return the smallest limit of parts, given by paths, and of those in their fields, or None."""
    limits = []
    for path, part in parts.items():
        for where, value in ((path, part), *walk(part, path)):
            if isinstance(value, LengthLimited):
                words, name = value.length_limit()
                limits.append(MaxLength(words, f"{where}.{name}"))
    return min(limits, default=None)
