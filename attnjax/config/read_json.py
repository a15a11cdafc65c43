"""JSON objects as dataclasses: keys and types are checked where a file is read."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from string import hexdigits
from sys import float_info
from typing import Annotated, Any, get_origin
from unicodedata import category

from annotated_types import Predicate

from attnjax.config.constraints import alternatives, check_value, describe, item_hints, shown
from attnjax.config.walk import field_types
from attnjax.errors import UserError, unknown


def count(value: Any) -> bool:
    """Return whether a value is a whole number from 0 that 64 bits can hold."""
    return type(value) is int and 0 <= value < 2**63


def number(value: Any) -> bool:
    """Return whether a value is a number that a float can hold, and is finite."""
    # NaN is in no range
    return type(value) in (int, float) and -float_info.max <= value <= float_info.max


def folder_name(value: str) -> bool:
    """Return whether a text can name a folder, and cannot lead to another."""
    printed = not any(category(letter) in ("Cc", "Cs") for letter in value)
    return 0 < len(value) < 256 and printed and "/" not in value and value not in (".", "..")


def digest(value: str) -> bool:
    """Return whether a text is the digest of something: hexadecimal digits."""
    return 0 < len(value) <= 128 and {*value} <= {*hexdigits}


def day(value: str) -> bool:
    """Return whether a text is a day as ISO 8601 has it, 2026-11-24."""
    try:
        return len(value) == 10 and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


type Number = Annotated[Any, Predicate(number)]
type WholeNumber = Annotated[Any, Predicate(count)]
type FolderName = Annotated[str, Predicate(folder_name)]
type Digest = Annotated[str, Predicate(digest)]
type Day = Annotated[str, Predicate(day)]


def read_record[T](content: Any, kind: type[T], where: object) -> T:
    """Make a dataclass of a JSON object; a list becomes a tuple where the field is one.

    `where` is the file, for the error message; a field with a default may be missing.

    Raises:
        UserError: the content is no object, lacks a key, or has an unknown key or a value that does
            not fit the field's annotation.
    """
    try:
        return make_record(content, kind)
    except UserError as error:
        raise UserError(
            f"{where} is damaged, or another version of attnjax wrote it: {error}"
        ) from error


def known_keys(content: Any, kind: type) -> Any:
    """Return a JSON object without the keys that are no fields of a dataclass."""
    if not isinstance(content, Mapping):
        return content
    return {key: value for key, value in content.items() if key in field_types(kind)}


def make_record(content: Any, kind: Any) -> Any:
    """Make a dataclass as `read_record` does, with errors that name no file."""
    hints = field_types(kind)
    if not isinstance(content, Mapping):
        raise UserError(f"a JSON object was wanted; it holds {shown(content)}")
    for key in content:
        if key not in hints:
            raise unknown("key", key, hints)
    for field in fields(kind):
        if field.name not in content and field.default is field.default_factory is MISSING:
            raise UserError(
                f"the key {field.name} is missing; wanted {describe(hints[field.name])}"
            )
    return kind(**{key: _field(value, hints[key], key) for key, value in content.items()})


def _field(data: Any, hint: Any, key: str) -> Any:
    """Return the value of a field, checked; records in it were checked when they were made."""
    value = _value(data, hint)
    records = value if isinstance(value, tuple) else (value,)
    are_checked = bool(records) and all(map(is_dataclass, records))
    if not are_checked or any(constraints for _, constraints in alternatives(hint)):
        check_value(hint, value, key)
    return value


def _value(data: Any, hint: Any) -> Any:
    """Return the value of a field; what does not fit the annotation stays as it is."""
    for kind, _ in alternatives(hint):
        if is_dataclass(kind) and isinstance(data, Mapping):
            return make_record(data, kind)
        if get_origin(kind) is tuple and isinstance(data, list):
            hints = item_hints(kind, len(data))
            if len(hints) == len(data):
                return tuple(map(_value, data, hints))
    return data
