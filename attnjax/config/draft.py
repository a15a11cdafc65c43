"""A tree of parts while it is changed: whether fields fit together is checked when it is made."""

import dataclasses
import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from attnjax.config.constraints import shown
from attnjax.config.walk import field_names, path_below
from attnjax.errors import UserError

NEW = object()
"""The old value of a part that replaces one of another class."""


class Unfit(UserError):
    """The new fields of the part at `path` do not fit together; "" is the whole tree."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


@dataclasses.dataclass
class Draft:
    """A part that is not made yet.

    Attributes:
        kind: its class.
        fields: a value for each field, which may be a `Draft`; a field may be missing.
        old: the value that is changed; NEW: there is none.
    """

    kind: type
    fields: dict[str, Any]
    old: Any = NEW

    @classmethod
    def of(cls, value: Any) -> "Draft":
        """Return the draft of a value, itself if it is one; a number or a string has no fields."""
        if isinstance(value, Draft):
            return value
        fields = {name: getattr(value, name) for name in field_names(type(value))}
        return cls(type(value), fields, value)

    def paths(self, path: str = "") -> Iterator[str]:
        """Yield the path of every field below the part, outer fields first."""
        for name, value in self.fields.items():
            below = path_below(path, name)
            yield below
            yield from self.of(value).paths(below)

    def holder(self, path: str) -> tuple["Draft", str]:
        """Return the draft of the part that has the field at a path, and the field's name.

        Every part on the way becomes a draft, so that its fields can be changed.

        Raises:
            UserError: no field has such a path; the nearest is named.
        """
        part, (*above, last) = self, path.split(".")
        for name in above:
            self._check(part, path, name)
            draft = self.of(part.fields.get(name))
            if draft.fields:
                part.fields[name] = draft
            part = draft
        self._check(part, path, last)
        return part, last

    def make(self, changed: Sequence[str], path: str = "") -> Any:
        """Return the part at a path of the tree, after the parts below it.

        Raises:
            Unfit: a part refuses its new fields. If only one of the `changed` paths lies within the
                part, the message names it.
        """
        values = {
            name: value.make(changed, path_below(path, name)) if isinstance(value, Draft) else value
            for name, value in self.fields.items()
        }
        try:
            if self.old is NEW:
                return self.kind(**values)
            different = {n: v for n, v in values.items() if v is not getattr(self.old, n)}
            return dataclasses.replace(self.old, **different) if different else self.old
        except ValueError as error:
            raise Unfit(_located(str(error), path, changed), path) from error
        except TypeError as error:
            if self.old is not NEW:
                raise
            # a part whose fields have no defaults can only be made in an experiment file
            sentence = f"{error}; choose it in an experiment file"
            raise Unfit(_located(sentence, path, changed), path) from error

    def _check(self, part: "Draft", path: str, name: str) -> None:
        """Refuse a path of this tree if a part on it lacks the field `name`; name the nearest."""
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
            paths = [*self.paths()]
            near = difflib.get_close_matches(path, paths, n=1, cutoff=0.75)
            # people remember the last name of a path best
            near += [below for below in paths if below.split(".")[-1] == last]
        if near:
            raise UserError(f"no field {path}; did you mean {near[0]}?")
        raise UserError(f"no field {path}: {part.kind.__name__} has {', '.join(names)}")


def _located(sentence: str, path: str, changed: Sequence[str]) -> str:
    """Prefix an error of the part at a path with that path, or with its only changed field's."""
    within = [field for field in changed if f"{field}.".startswith(f"{path}.")]
    where = within[0] if len(within) == 1 else path
    return sentence if where in sentence else f"{where}: {sentence}"
