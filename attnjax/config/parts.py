"""The parts that a field may hold, by name: subclasses of its annotation, a user's own included."""

import dataclasses
import inspect
import pkgutil
import re
from abc import ABC
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from types import ModuleType, NoneType
from typing import Any

from attnjax.config.constraints import alternatives
from attnjax.config.docstrings import docstring
from attnjax.config.recorded_names import is_shipped
from attnjax.config.walk import field_types
from attnjax.errors import UserError, unknown

ROOMS_OF_PARTS = (
    "attention",
    "data",
    "decoding",
    "evaluation",
    "experiment",
    "models",
    "nn",
    "training",
)
"""The packages that have parts; they are named, since a room imports none above it."""


def parts(hint: Any) -> dict[str, type | None]:
    """Return the parts that an annotation allows, by their names on the command line.

    Abstract classes are left out, and those with arrays in their fields, which no experiment could
    record; None is named "none".
    """
    kinds: dict[str, type | None] = {kebab(kind.__name__): kind for kind in _kinds(hint)}
    optional = NoneType in (kind for kind, _ in alternatives(hint))
    return kinds | ({"none": None} if kinds and optional else {})


def part(hint: Any, name: str, path: str) -> type | None:
    """Return the part of a name that the annotation of the field at `path` allows.

    Raises:
        UserError: no part has this name (the nearest is named), or a part of attnjax and one of
            the user's own both have it.
    """
    options = parts(hint)
    if name not in options:
        raise unknown(f"part for {path}:", name, options)
    kinds = [kind for kind in _kinds(hint) if kebab(kind.__name__) == name]
    shipped = [kind for kind in kinds if is_shipped(kind)]
    if shipped and len(shipped) < len(kinds):
        raise UserError(f"{path}:{name} is ambiguous: {_same_name(shipped[0])}")
    return options[name]


def check_names(own: Iterable[type]) -> None:
    """Refuse classes of a user that have the name of a shipped part of their kind."""
    for kind in own:
        bases = [base for base in kind.__mro__[1:] if dataclasses.is_dataclass(base)]
        if inspect.isabstract(kind) or is_shipped(kind) or not any(map(is_shipped, bases)):
            continue
        _import_parts()
        for other in (other for base in filter(is_shipped, bases) for other in _below(base)):
            if is_shipped(other) and kebab(other.__name__) == kebab(kind.__name__):
                raise UserError(_same_name(other))


def _same_name(kind: type) -> str:
    """Return the error about a class of the user that has the name of a part of attnjax."""
    return (
        f"{kind.__module__}.{kind.__name__} and a class of your own are both named "
        f"{kind.__name__}; rename your own"
    )


def _kinds(hint: Any) -> list[type]:
    """Return the classes of parts that an annotation allows, base classes first."""
    _import_parts()
    return [
        kind
        for base, _ in alternatives(hint)
        if isinstance(base, type) and dataclasses.is_dataclass(base)
        for kind in _below(base)
        if not _holds_array(kind)
    ]


def _holds_array(kind: type) -> bool:
    """Return whether a field of the class is an array."""
    from jax import Array  # imported with the parts: naming no part, nobody waits for it

    hints = field_types(kind).values()
    return any(member is Array for hint in hints for member, _ in alternatives(hint))


def first_line(kind: type | None) -> str:
    """Return the first line of a part's own docstring; "" if the part has none."""
    return "" if kind is None else docstring(kind).partition("\n")[0]


@cache
def shipped() -> dict[str, type]:
    """Return the dataclasses of attnjax that may be parts, by name; no two have the same."""
    return {
        kind.__name__: kind
        for module in _import_parts()
        for kind in vars(module).values()
        if isinstance(kind, type)
        and dataclasses.is_dataclass(kind)
        and kind.__module__ == module.__name__
    }


@cache
def _import_parts() -> list[ModuleType]:
    """Import every module that may define parts: only imported subclasses are known to Python."""
    packages = [import_module(f"attnjax.{room}") for room in ROOMS_OF_PARTS]
    below = [
        import_module(module.name)
        for package in packages
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    return [*packages, *below]


def _below(base: type) -> list[type]:
    """Return the class and its subclasses that are not abstract."""
    deeper = [kind for sub in base.__subclasses__() for kind in _below(sub)]
    return deeper if inspect.isabstract(base) or ABC in base.__bases__ else [base, *deeper]


def kebab(name: str) -> str:
    """Return the name of a class on the command line: scaled-dot for ScaledDot."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
