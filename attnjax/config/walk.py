"""Trees of parts: their fields, every path below one, and where two of them differ.

A part is a frozen dataclass, Linen modules among them. A field holds a part, a number, a string,
None, or a tuple or mapping of such.
"""

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any, get_type_hints

from attnjax.errors import UserError

WHERE_IN_USE = ("parent", "name")
"""The fields of every Linen module that say where it is used, not what it is."""


def is_part(value: Any) -> bool:
    """Whether a value is a part: an instance of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


@cache
def field_names(kind: type) -> tuple[str, ...]:
    """The names of the fields that a class of parts is made of; none for any other class."""
    if not dataclasses.is_dataclass(kind):
        return ()
    names = tuple(field.name for field in dataclasses.fields(kind) if field.init)
    in_use = WHERE_IN_USE if "parent" in names else ()
    return tuple(name for name in names if name not in in_use)


@cache
def field_types(kind: type) -> dict[str, Any]:
    """The annotation of each field of a class of parts, constraints included.

    Raises:
        UserError: an annotation names something that its module does not define.
    """
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise UserError(f"an annotation of {kind.__name__} cannot be read: {error}") from error
    return {name: hints[name] for name in field_names(kind)}


def replaced[T](part: T, name: str, value: Any) -> T:
    """A copy of a part with another value in one field."""
    return dataclasses.replace(part, **{name: value})  # type: ignore[type-var]


def walk(part: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every field below a part: its path and value, outer ones first."""
    for name in field_names(type(part)):
        below, value = f"{path}.{name}" if path else name, getattr(part, name)
        yield below, value
        yield from walk(value, below)


def differences(one: Any, other: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    """Where two parts differ: the path, and the value of each there."""
    if not is_part(one) or type(one) is not type(other):
        return {} if type(one) is type(other) and one == other else {path: (one, other)}
    found: dict[str, tuple[Any, Any]] = {}
    for name in field_names(type(one)):
        below = f"{path}.{name}" if path else name
        found |= differences(getattr(one, name), getattr(other, name), below)
    return found
