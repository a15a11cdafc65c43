"""Changes from the command line: `search:greedy` is a part, `--training.steps 100` a value.

Where a field holds several parts, `measures:heads` adds one, and `measures:none` leaves none. Of a
part whose class is changed, the fields that were given a value survive: see `_surviving_fields`.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from attnjax.config.constraints import allows, alternatives, check_value, describe
from attnjax.config.draft import Draft, Unfit
from attnjax.config.parts import part, parts
from attnjax.config.walk import defaults, field_names, field_types
from attnjax.errors import UserError


class Override(NamedTuple):
    """One change: the path of a field, the text of its new value, whether a part is chosen."""

    path: str
    text: str
    choice: bool

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments of the command line."""
        return (f"{self.path}:{self.text}",) if self.choice else (f"--{self.path}", self.text)

    def __str__(self) -> str:
        return " ".join(self.words)


# a word such as v5e:2x4, without dots and with a number after the colon, chooses no part
CHOICE = re.compile(r"([A-Za-z_]\w*(\.[A-Za-z_]\w*)*):((?(2)\w|[A-Za-z_])[\w-]*)")
VALUE = re.compile(r"--([A-Za-z_][\w-]*(?:\.[\w-]+)+)(?:=(.*))?", re.DOTALL)


def split(arguments: Sequence[str]) -> tuple[list[str], list[Override]]:
    """Split arguments into the overrides, returned second, and all others.

    Every option with a dot in its name is an override: no command has such options of its own. The
    overrides may be given in any order; choices of parts are returned first, outer parts before
    those below them, because a value may belong to a part that is chosen.
    """
    rest, overrides, waiting = [], [], list(arguments)
    while waiting:
        word = waiting.pop(0)
        if chosen := CHOICE.fullmatch(word):
            overrides.append(Override(chosen[1], chosen[3], choice=True))
        elif given := VALUE.fullmatch(word):
            path, text = given[1].replace("-", "_"), given[2]
            if text is None and (not waiting or waiting[0].startswith("--")):
                raise UserError(f"--{path} needs a value after it")
            overrides.append(Override(path, waiting.pop(0) if text is None else text, choice=False))
        else:
            rest.append(word)
    overrides.sort(key=lambda item: (not item.choice, item.path.count(".") if item.choice else 0))
    return rest, overrides


def override[T](base: T, overrides: Sequence[Override]) -> T:
    """Return a copy of a part with the overrides applied.

    A part that is chosen keeps what its predecessor was given: the fields of the same name that
    have another value than the predecessor's default, where the new part allows the value.

    Raises:
        UserError: a path, part or value is unknown (the nearest is named), or a part refuses its
            new fields.
    """
    base, refused = apply_possible(base, overrides)
    if refused:
        raise refused[0]
    return base


def apply_possible[T](base: T, overrides: Sequence[Override]) -> tuple[T, list[UserError]]:
    """Return a copy with all overrides that can be applied, and the errors of the others.

    Whether fields fit together is checked after all overrides. Where a part refuses its new
    fields, the overrides of the part and of those below it are left out.
    """
    draft, refused, applied = Draft.of(base), [], []
    for wanted in overrides:
        try:
            holder, name = draft.holder(wanted.path)
            hint = field_types(holder.kind)[name]
            if wanted.choice:
                holder.fields[name] = _choose(wanted, hint, holder.fields.get(name))
            else:
                holder.fields[name] = _read_value(wanted, hint)
            applied.append(wanted)
        except UserError as error:
            refused.append(error)
    try:
        return draft.make([override.path for override in applied]), refused
    except Unfit as error:
        above = f"{error.path}." if error.path else ""
        others = [override for override in applied if not f"{override.path}.".startswith(above)]
        made, more = apply_possible(base, others)
        return made, [*refused, error, *more]


def _choose(wanted: Override, hint: Any, old: Any) -> Any:
    """Return the part that is chosen in place of an old one, which may be a `Draft`."""
    if get_origin(hint) is tuple and parts(get_args(hint)[0]):
        return _append(get_args(hint)[0], old, wanted)
    if not parts(hint):
        # options without a dot belong to the command
        advice = f"give --{wanted.path} VALUE" if "." in wanted.path else "write it in the file"
        raise UserError(f"{wanted.path} is a value, not a part ({describe(hint)}): {advice}")
    kind = part(hint, wanted.text, wanted.path)
    if kind is None:
        return None
    before = Draft.of(old)
    if before.kind is kind:
        return old
    return Draft(kind, defaults(kind) | _surviving_fields(before, kind))


def _append(hint: Any, old: tuple[Any, ...], wanted: Override) -> tuple[Any, ...]:
    """Append a part with default fields unless its class is present; "none" empties the tuple."""
    if wanted.text == "none":
        return ()
    kind = part(hint, wanted.text, wanted.path)
    return old if kind is None or any(type(item) is kind for item in old) else (*old, kind())


def _surviving_fields(before: Draft, kind: type) -> dict[str, Any]:
    """Return the fields that a part of another class takes over.

    A field survives if `before` was given a value for it, other than its default, and `kind` has a
    field of this name whose annotation allows the value.
    """
    default_values = defaults(before.kind) if before.fields else {}
    return {
        name: value
        for name, value in before.fields.items()
        if name in field_names(kind)
        and (name not in default_values or value != default_values[name])
        and allows(field_types(kind)[name], value)
    }


def _read_value(wanted: Override, hint: Any) -> Any:
    """Return the value that an override gives."""
    kinds = [kind for kind, _ in alternatives(hint)]
    options = parts(hint)
    if options and not (wanted.text.lower() == "none" and NoneType in kinds):
        name = wanted.text if wanted.text in options else next(iter(options))
        raise UserError(f"--{wanted.path}: a part is chosen by {wanted.path}:{name}")
    # "none" would also be read as a string
    kinds.sort(key=lambda kind: kind is not NoneType)
    read = [value for kind in kinds for value in _parse(kind, wanted.text)]
    if not read:
        raise UserError(f"--{wanted.path}: wanted {describe(hint)}; got {wanted.text!r}")
    check_value(hint, read[0], f"--{wanted.path}")
    return read[0]


def _parse_number(kind: Callable[[str], float], text: str) -> list[Any]:
    """Parse a text as a number, as `_parse` does."""
    if kind is int and GROUPED.fullmatch(text):
        text = text.replace(",", "")
    with suppress(ValueError):
        return [kind(text)]
    return []


GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
"""A whole number whose digits are grouped in threes, 1,000: neither 10,20 nor 1,5 is one."""


def _parse(kind: Any, text: str) -> list[Any]:
    """Parse a text as a type: return a list of its value, or [] if it has none."""
    if kind is NoneType:
        return [None] if text.lower() == "none" else []
    if get_origin(kind) is Literal:
        return [word for word in get_args(kind) if str(word) == text]
    if kind is bool:
        return [text.lower() == "true"] if text.lower() in ("true", "false") else []
    if kind in (int, float):
        return _parse_number(kind, text)
    if get_origin(kind) is tuple and get_args(kind)[1:] == (...,):
        (item_kind, _), *_ = alternatives(get_args(kind)[0])
        items = [_parse(item_kind, item) for item in text.split(",") if item]
        return [tuple(item[0] for item in items)] if all(items) else []
    return [text] if kind is str else []
