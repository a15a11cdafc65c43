"""Parts of a split, named as tensorflow-datasets names them: "train[4000:]", "train[:4000]"."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from attnjax.data.corpus import Example
from attnjax.errors import UserError

PART = re.compile(r"(.+)\[(\d*):(\d*)\]")
MEANT = re.compile(r"(.+)\[[^\[\]]*[:%][^\[\]]*\]")
"""A name that looks like a part of a split; other brackets belong to the split's name."""


class Slice(NamedTuple):
    """The examples start, ..., stop - 1 of a split; by default all."""

    whole: str
    start: int = 0
    stop: int = sys.maxsize


def read_slice(name: str) -> Slice:
    """Parse the part that a name stands for; without brackets it stands for a whole split."""
    asked = PART.fullmatch(name)
    if asked is None:
        return Slice(name)
    whole, start, stop = asked.groups()
    return Slice(whole, _number(start or "0"), _number(stop) if stop else sys.maxsize)


def _number(digits: str) -> int:
    """Parse the number of an example; many digits are a number greater than any."""
    return int(digits) if len(digits) < len(str(sys.maxsize)) else sys.maxsize - 1


def whole_split(name: str) -> str:
    """Return the name of the whole split that a name, whatever its part, belongs to."""
    asked = MEANT.fullmatch(name)
    return name if asked is None else asked[1]


def sliced(read: Callable[[str], Iterable[Example]]) -> Callable[[str], Iterator[Example]]:
    """Let a function that reads "train" also read a part of it, "train[4000:]"."""

    def read_part(name: str) -> Iterator[Example]:
        whole, start, stop = read_slice(name)
        if MEANT.fullmatch(whole):
            raise UserError(
                f"a part of a split is written train[4000:] or train[:4000]; got {name}"
            )
        examples = iter(read(whole))
        count = before = sum(1 for _ in islice(examples, start))
        for example in islice(examples, max(0, stop - start)):
            count += 1
            yield example
        if count < stop < sys.maxsize:
            raise UserError(f"{name} reaches beyond the end; {whole} has {count:,} examples")
        if count == before:
            count += sum(1 for _ in examples)
            raise UserError(f"{name} holds nothing; {whole} has {count:,} examples")

    return read_part


def check_apart(train: str, **others: str | None) -> None:
    """Refuse splits that share examples with training; `others` have the names of their fields."""
    first = read_slice(train)
    for field, name in others.items():
        if name is None:
            continue
        other = read_slice(name)
        begin, end = max(first.start, other.start), min(first.stop, other.stop)
        if first.whole == other.whole and begin < end:
            raise UserError(
                f"task.train and task.{field} must share no example; got {train} and {name}"
            )
