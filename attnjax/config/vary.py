"""`vary`: a copy of a part with some fields changed, each named by its path."""

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any

from attnjax.config.constraints import alternatives, check_value, shown
from attnjax.config.walk import field_names, field_types, replaced, walk
from attnjax.errors import UserError


def vary[T](base: T, changes: Mapping[str, Any]) -> T:
    """A copy of a part with some fields changed: `vary(base, {"model.encoder.width": 4})`.

    `**` matches any path: `{"model.**.heads": 4}` changes every field `heads` of the model and of
    the parts below it. Changes are made in their order: a later path may lead into the value of an
    earlier change.

    Raises:
        UserError: no field has such a path (the nearest is named), or the field's annotation does
            not allow the value.
    """
    for pattern, value in changes.items():
        for path in _matching(base, pattern):
            base = change(base, path, _checked(path, value))
    return base


def _matching(base: Any, pattern: str) -> list[str]:
    """The paths that a pattern matches; a pattern without `**` is a path."""
    if "**" not in pattern:
        return [pattern]
    rule = re.compile(re.escape(pattern).replace(re.escape("**."), r"(.+\.)?"))
    found = [path for path, _ in walk(base) if rule.fullmatch(path)]
    if not found:
        raise UserError(f"no field of {type(base).__name__} matches {pattern}")
    return found


def _checked(path: str, value: Any) -> Callable[[Any, Any], Any]:
    """A function for `change` that returns the value if the field's annotation allows it."""

    def checked(hint: Any, old: Any) -> Any:
        del old
        check_value(hint, value, path)
        kinds = [kind for kind, _ in alternatives(hint)]
        whole = type(value) is int and int not in kinds
        return float(value) if whole and float in kinds else value

    return checked


def change[T](base: T, path: str, make: Callable[[Any, Any], Any]) -> T:
    """A copy of a part with the value make(annotation, old value) at a path.

    Raises:
        UserError: no field has that path, or the part refuses its new value.
    """

    def rebuilt(part: Any, way: list[str]) -> Any:
        name, *rest = way
        if name not in field_names(type(part)):
            raise UserError(_no_field(base, part, path, name))
        old = getattr(part, name)
        new = rebuilt(old, rest) if rest else make(field_types(type(part))[name], old)
        try:
            return replaced(part, name, new)
        except ValueError as error:
            said = str(error)
            raise UserError(said if path in said else f"{path}: {said}") from error

    return rebuilt(base, path.split("."))


def field_at(base: Any, path: str) -> tuple[Any, Any]:
    """The annotation and the value of the field at a path.

    Raises:
        UserError: no field has that path.
    """
    part, hint = base, None
    for name in path.split("."):
        if name not in field_names(type(part)):
            raise UserError(_no_field(base, part, path, name))
        hint, part = field_types(type(part))[name], getattr(part, name)
    return hint, part


def _no_field(base: Any, part: Any, path: str, name: str) -> str:
    """The error message for a path that no field has: `part` has no field `name`."""
    if not field_names(type(part)):
        above = path.split("." + name)[0]
        return f"{path}: {above} is {shown(part)}, which has no fields"
    *above, last = path.split(".")
    if above and name == last:
        # the way is right: only a field of this part can have been meant
        siblings = difflib.get_close_matches(last, field_names(type(part)), n=1)
        near = [".".join([*above, sibling]) for sibling in siblings]
    else:
        everything = [below for below, _ in walk(base)]
        near = difflib.get_close_matches(path, everything, n=1, cutoff=0.75)
        # people remember the last name of a path best
        near += [below for below in everything if below.split(".")[-1] == last]
    if near:
        return f"no field {path}; did you mean {near[0]}?"
    return f"no field {path}: {type(part).__name__} has {', '.join(field_names(type(part)))}"
