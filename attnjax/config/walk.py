"""Trees of parts: their fields, the paths of all fields, and the differences between two trees.

A part is a frozen dataclass, Linen modules among them. A field holds a part, a number, a string,
None, or a tuple or mapping of such.
"""

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any, get_type_hints

from attnjax.errors import UserError

WHERE_IN_USE = ("parent", "name")
"""Fields of every Linen module that are not configuration: they belong to a bound module."""


def is_part(value: Any) -> bool:
    """Return whether a value is a part: an instance of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


@cache
def field_names(kind: type) -> tuple[str, ...]:
    """Return the names of a class's configuration fields; () if it is no class of parts."""
    if not dataclasses.is_dataclass(kind):
        return ()
    names = tuple(field.name for field in dataclasses.fields(kind) if field.init)
    in_use = WHERE_IN_USE if "parent" in names else ()
    return tuple(name for name in names if name not in in_use)


@cache
def field_types(kind: type) -> dict[str, Any]:
    """Return the annotation of each field of a class of parts, constraints included."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise UserError(f"an annotation of {kind.__name__} cannot be read: {error}") from error
    return {name: hints[name] for name in field_names(kind)}


def defaults(kind: type) -> dict[str, Any]:
    """Return the default of each field of a class of parts that has one."""
    values = {}
    for field in dataclasses.fields(kind):
        if field.name not in field_names(kind):
            continue
        if field.default is not dataclasses.MISSING:
            values[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            values[field.name] = field.default_factory()
    return values


def path_below(path: str, name: str) -> str:
    """Return the path of a field of the part at a path; "" is the whole tree."""
    return f"{path}.{name}" if path else name


def walk(part: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of every field below a part, outer fields first."""
    for name in field_names(type(part)):
        below, value = path_below(path, name), getattr(part, name)
        yield below, value
        yield from walk(value, below)


def differences(first: Any, second: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    """Return the paths where two parts differ, each with the two values."""
    if not is_part(first) or type(first) is not type(second):
        return {} if type(first) is type(second) and first == second else {path: (first, second)}
    changed: dict[str, tuple[Any, Any]] = {}
    for name in field_names(type(first)):
        fields = getattr(first, name), getattr(second, name)
        changed |= differences(*fields, path_below(path, name))
    return changed
