"""`vary`: a copy of a part with some fields changed, each named by its path."""

import re
from collections.abc import Mapping
from typing import Any

from attnjax.config.constraints import alternatives, check_value
from attnjax.config.draft import Draft
from attnjax.errors import UserError


def vary[T](base: T, changes: Mapping[str, Any]) -> T:
    """A copy of a part with some fields changed: `vary(base, {"model.encoder.width": 4})`.

    `**` matches any path: `{"model.**.heads": 4}` changes every field `heads` of the model and of
    the parts below it. Changes are made in their order: a later path may lead into the value of an
    earlier change. Whether fields fit together is checked after all changes.

    Raises:
        UserError: no field has such a path (the nearest is named), the field's annotation does not
            allow the value, or a part refuses its new fields.
    """
    draft = Draft(base)
    for pattern, value in changes.items():
        for path in _matching(base, draft, pattern):
            hint, _ = draft.field(path)
            check_value(hint, value, path)
            kinds = [kind for kind, _ in alternatives(hint)]
            # a whole number may stand for a float
            whole = type(value) is int and int not in kinds
            draft.change(path, float(value) if whole and float in kinds else value)
    return draft.made()


def _matching(base: Any, draft: Draft, pattern: str) -> list[str]:
    """The paths that a pattern matches; a pattern without `**` is a path."""
    if "**" not in pattern:
        return [pattern]
    rule = re.compile(re.escape(pattern).replace(re.escape("**."), r"(.+\.)?"))
    matching = [path for path in draft.paths if rule.fullmatch(path)]
    if not matching:
        raise UserError(f"no field of {type(base).__name__} matches {pattern}")
    return matching


def field_at(base: Any, path: str) -> tuple[Any, Any]:
    """The annotation and the value of the field at a path."""
    return Draft(base).field(path)
