"""`vary`: a copy of a part with some fields changed, each named by its path."""

import re
from collections.abc import Mapping
from typing import Any

from attnjax.config.constraints import alternatives, check_value
from attnjax.config.draft import Draft
from attnjax.config.walk import field_types
from attnjax.errors import UserError


def vary[T](base: T, changes: Mapping[str, Any]) -> T:
    """Return a copy of a part with fields changed: `vary(base, {"model.encoder.width": 4})`.

    `**` matches any path: `{"model.**.heads": 4}` changes every field `heads` of the model and of
    the parts below it. Changes are made in their order: a later path may lead into the value of an
    earlier change. Whether fields fit together is checked after all changes.

    Raises:
        UserError: no field has such a path (the nearest is named), the field's annotation does not
            allow the value, or a part refuses its new fields.
    """
    draft, changed = Draft.of(base), []
    for pattern, value in changes.items():
        for path in _matches(draft, pattern):
            part, name = draft.holder(path)
            hint = field_types(part.kind)[name]
            check_value(hint, value, path)
            kinds = [kind for kind, _ in alternatives(hint)]
            # a whole number may stand for a float
            whole = type(value) is int and int not in kinds
            part.fields[name] = float(value) if whole and float in kinds else value
            changed.append(path)
    return draft.make(changed)


def _matches(draft: Draft, pattern: str) -> list[str]:
    """Return the paths that match a pattern; a pattern without `**` is a path."""
    if "**" not in pattern:
        return [pattern]
    rule = re.compile(re.escape(pattern).replace(re.escape("**."), r"(.+\.)?"))
    paths = [path for path in draft.paths() if rule.fullmatch(path)]
    if not paths:
        raise UserError(f"no field of {draft.kind.__name__} matches {pattern}")
    return paths


def field_at(base: Any, path: str) -> tuple[Any, Any]:
    """Return the annotation and the value of the field at a path."""
    part, name = Draft.of(base).holder(path)
    return field_types(part.kind)[name], part.fields[name]
