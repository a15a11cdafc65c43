"""An experiment with some fields changed, each named by its path and checked against its type.

A part is a frozen dataclass, Linen modules among them: what a field holds is a part, a number, a
string, None, or a tuple of such.
"""

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, TypeAliasType, Union, get_args, get_origin, get_type_hints

from attnjax.config.serialize import fields
from attnjax.errors import UserError


def vary[T](base: T, changes: Mapping[str, Any]) -> T:
    """A copy of a part with some fields changed: `vary(base, {"model.encoder.width": 4})`.

    `**` stands for any way down: `{"model.**.heads": 4}` changes every `heads` below the model, the
    model's own too.
    Changes are made in their order, so a later path may lead into an earlier one's value.

    Raises:
        UserError: no field has that path (the nearest is named), or the value is of another type.
    """
    for pattern, value in changes.items():
        for path in _matching(base, pattern):
            base = change(base, path, _checked(path, value))
    return base


def _matching(base: Any, pattern: str) -> list[str]:
    """The paths that a pattern stands for; one without `**` is itself."""
    if "**" not in pattern:
        return [pattern]
    rule = re.compile(re.escape(pattern).replace(re.escape("**."), r"(.+\.)?"))
    found = [path for path, _ in walk(base) if rule.fullmatch(path)]
    if not found:
        raise UserError(f"no field of {type(base).__name__} matches {pattern}")
    return found


def _checked(path: str, value: Any) -> Callable[[Any, Any], Any]:
    """What gives a field its new value, if that is of the field's type."""

    def checked(hint: Any, old: Any) -> Any:
        del old
        if not accepts(hint, value):
            raise UserError(f"{path}: wanted {describe(hint)}; got {_describe_value(value)}")
        whole = type(value) is int and int not in alternatives(hint)
        return float(value) if whole and float in alternatives(hint) else value

    return checked


def change[T](base: T, path: str, make: Callable[[Any, Any], Any]) -> T:
    """The part with make(type hint, old value) where the path leads.

    Raises:
        UserError: no field has that path, or the part refuses its new value.
    """

    def rebuilt(part: Any, way: list[str]) -> Any:
        name, *rest = way
        if name not in names(part):
            raise UserError(_unknown(base, part, path, name))
        old = getattr(part, name)
        new = rebuilt(old, rest) if rest else make(hints(type(part))[name], old)
        try:
            return replaced(part, name, new)
        except ValueError as error:
            said = str(error)
            raise UserError(said if path in said else f"{path}: {said}") from error

    return rebuilt(base, path.split("."))


def differences(one: Any, other: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    """Where two parts differ: a path, and the value of each there."""
    if not is_part(one) or type(one) is not type(other):
        return {} if type(one) is type(other) and one == other else {path: (one, other)}
    found: dict[str, tuple[Any, Any]] = {}
    for name in names(one):
        below = f"{path}.{name}" if path else name
        found |= differences(getattr(one, name), getattr(other, name), below)
    return found


def is_part(value: Any) -> bool:
    """Whether a value is a part: a dataclass's instance."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def names(value: Any) -> list[str]:
    """The names of a part's fields; none for what is no part."""
    return fields(value) if is_part(value) else []


def hints(kind: type) -> dict[str, Any]:
    """The types of a part's fields."""
    return get_type_hints(kind)


def replaced(part: Any, name: str, value: Any) -> Any:
    """The part with one other value."""
    if hasattr(part, "clone"):
        return part.clone(**{name: value})
    return dataclasses.replace(part, **{name: value})


def walk(part: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every field below a part: its path and value, outer ones first."""
    for name in names(part):
        below, value = f"{path}.{name}" if path else name, getattr(part, name)
        yield below, value
        yield from walk(value, below)


def alternatives(hint: Any) -> tuple[Any, ...]:
    """What a type hint is the union of."""
    if isinstance(hint, TypeAliasType):
        return alternatives(hint.__value__)
    if get_origin(hint) in (Union, UnionType):
        return tuple(kind for member in get_args(hint) for kind in alternatives(member))
    return (hint,)


def accepts(hint: Any, value: Any) -> bool:
    """Whether a value is of a type. A whole number may stand for a float, a bool for neither."""
    return any(_accepts(kind, value) for kind in alternatives(hint))


def _accepts(kind: Any, value: Any) -> bool:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if kind in (None, NoneType):
        return value is None
    if origin is Literal:
        return any(value == word and type(value) is type(word) for word in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if arguments[1:] == (...,):
            return all(accepts(arguments[0], item) for item in value)
        return len(value) == len(arguments) and all(map(accepts, arguments, value))
    if isinstance(value, bool):
        return kind in (bool, object)
    if kind is float:
        return isinstance(value, (int, float))
    return isinstance(value, origin or kind)


def describe(hint: Any) -> str:
    """A type in words: "int or None"."""
    words: list[str] = []
    for kind in alternatives(hint):
        if kind in (None, NoneType):
            words.append("None")
        elif get_origin(kind) is Literal:
            words += map(str, get_args(kind))
        else:
            words.append(getattr(kind, "__name__", str(kind)) if not get_args(kind) else str(kind))
    return " or ".join(words)


def _describe_value(value: Any) -> str:
    if is_part(value):
        return type(value).__name__
    return f"{type(value).__name__} {value!r}" if value is not None else "None"


def nearest(name: str, known: Iterable[str]) -> str:
    """What to add to "no such name": the nearest one, or all where none is near."""
    known = sorted(set(known))
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; there is {', '.join(known)}" if known else ""


def _unknown(base: Any, part: Any, path: str, name: str) -> str:
    """What to say of a path that leads nowhere: `part` is where it breaks off, at `name`."""
    everything = dict(walk(base))
    if not names(part):
        above = path.split("." + name)[0]
        return f"{path}: {above} is {_describe_value(part)}, which has no fields"
    # the end of a path is what people remember
    near = difflib.get_close_matches(path, everything, n=1, cutoff=0.75)
    if not near:
        last = path.rpartition(".")[2]
        near = [below for below in everything if below.rpartition(".")[2] == last]
    if near:
        return f"no field {path}; did you mean {near[0]}?"
    return f"no field {path}: {type(part).__name__} has {', '.join(names(part))}"
