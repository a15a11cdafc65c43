"""A tree of parts while it is changed: what fields must be together is checked at the end."""

import dataclasses
import difflib
from collections.abc import Iterator
from typing import Any

from attnjax.config.constraints import shown
from attnjax.config.walk import field_names, field_types, path_below
from attnjax.errors import UserError

NEW = object()
"""The old value of a part that is chosen."""


class Unfit(UserError):
    """The new fields of the part at `path` do not fit together; "" is the whole tree."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


@dataclasses.dataclass
class DraftPart:
    """A part that is not made yet.

    Attributes:
        fields: a value for each field, which may be a `DraftPart`; a field may be missing.
        old: the value that is changed; NEW: there is none.
    """

    kind: type
    fields: dict[str, Any]
    old: Any = NEW

    @classmethod
    def of(cls, value: Any) -> "DraftPart":
        """The draft of a value, which may be one; a number or a string has no fields."""
        if isinstance(value, DraftPart):
            return value
        fields = {name: getattr(value, name) for name in field_names(type(value))}
        return cls(type(value), fields, value)

    def paths(self, path: str = "") -> Iterator[str]:
        """The path of every field below the part, outer fields first."""
        for name, value in self.fields.items():
            below = path_below(path, name)
            yield below
            yield from self.of(value).paths(below)

    def below(self, name: str) -> "DraftPart":
        """The draft of a field; a part becomes a draft in its place."""
        draft = self.of(self.fields.get(name))
        if draft.fields:
            self.fields[name] = draft
        return draft

    def made(self, path: str = "") -> Any:
        """The part, after the parts below it."""
        values = {
            name: value.made(path_below(path, name)) if isinstance(value, DraftPart) else value
            for name, value in self.fields.items()
        }
        try:
            if self.old is NEW:
                return self.kind(**values)
            changed = {n: v for n, v in values.items() if v is not getattr(self.old, n)}
            return dataclasses.replace(self.old, **changed) if changed else self.old
        except ValueError as error:
            raise Unfit(str(error), path) from error
        except TypeError as error:
            if self.old is not NEW:
                raise
            # a part whose fields have no defaults can only be made in an experiment file
            raise Unfit(f"{error}; choose it in an experiment file", path) from error


class Draft:
    """A copy of a part, made after all changes."""

    def __init__(self, base: Any) -> None:
        self._top = DraftPart.of(base)
        self._changed: list[str] = []

    @property
    def paths(self) -> list[str]:
        """The paths of all fields, outer fields first."""
        return [*self._top.paths()]

    def field(self, path: str) -> tuple[Any, Any]:
        """The annotation and the value of the field at a path; a part may be a `DraftPart`."""
        part, name = self._holder(path)
        return field_types(part.kind)[name], part.fields.get(name)

    def change(self, path: str, value: Any) -> None:
        """Put a value at a path."""
        part, name = self._holder(path)
        part.fields[name] = value
        self._changed.append(path)

    def made(self) -> Any:
        """The copy; `Unfit` is raised where a part refuses its new fields."""
        try:
            return self._top.made()
        except Unfit as error:
            within = [path for path in self._changed if f"{path}.".startswith(f"{error.path}.")]
            where = within[0] if len(within) == 1 else error.path
            message = str(error)
            sentence = message if where in message else f"{where}: {message}"
            raise Unfit(sentence, error.path) from error

    def _holder(self, path: str) -> tuple[DraftPart, str]:
        """The draft of the part that has the field at a path, and the field's name."""
        part, (*above, last) = self._top, path.split(".")
        for name in above:
            self._check(part, path, name)
            part = part.below(name)
        self._check(part, path, last)
        return part, last

    def _check(self, part: DraftPart, path: str, name: str) -> None:
        """Refuse a path if a part of it lacks the field `name`; the nearest field is named."""
        names = field_names(part.kind)
        if name in names:
            return
        if not names:
            above = path.split("." + name)[0]
            value = part.kind.__name__ if part.old is NEW else shown(part.old)
            raise UserError(f"{path}: {above} is {value}, which has no fields")
        *above, last = path.split(".")
        if above and name == last:
            # the way is right: only a field of this part can have been meant
            siblings = difflib.get_close_matches(last, names, n=1)
            near = [".".join([*above, sibling]) for sibling in siblings]
        else:
            near = difflib.get_close_matches(path, self.paths, n=1, cutoff=0.75)
            # people remember the last name of a path best
            near += [below for below in self.paths if below.split(".")[-1] == last]
        if near:
            raise UserError(f"no field {path}; did you mean {near[0]}?")
        raise UserError(f"no field {path}: {part.kind.__name__} has {', '.join(names)}")
