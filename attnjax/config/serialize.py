"""Parts as plain JSON and back: the names of types and their fields, nothing pickled.

A name is that of a part of attnjax, see `attnjax.config.recorded_names`, or of a dataclass of the
experiment file ("experiment.MyScore"); no other is looked up, so that reading a record executes no
other code.
"""

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from attnjax.config.parts import shipped
from attnjax.config.recorded_names import (
    PACKAGE,
    added_fields,
    class_name,
    is_shipped,
    recorded_name,
)
from attnjax.config.walk import defaults, field_names, path_below
from attnjax.errors import UserError

TYPE = "type"
OWN = "experiment."
FLOAT = "float"
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""The escape of a half of a character: JSON may have one without the other."""


def to_json(value: Any, own: Mapping[str, type] | None = None) -> Any:
    """Return a part, number, string, None or tuple of these as JSON data.

    `own` are the dataclasses of the experiment file, by name.

    Raises:
        UserError: the value is anything else, such as a part of another package.
    """
    own = own or {}
    if isinstance(value, float) and not math.isfinite(value):
        return {TYPE: FLOAT, "value": str(value)}  # JSON has no such numbers
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return [to_json(item, own) for item in value]
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise UserError(
            f"only parts, numbers, strings, None and tuples of these can be recorded; got {value!r}"
        )
    content = {name: to_json(getattr(value, name), own) for name in _recorded_fields(value)}
    return {TYPE: _name(type(value), own), **content}


def _recorded_fields(part: Any) -> list[str]:
    """Return the names of the fields that a record has, see `added_fields`."""
    kind = type(part)
    known = defaults(kind)
    left_out = {name for name in added_fields(kind) if getattr(part, name) == known[name]}
    return [name for name in field_names(kind) if name not in left_out]


def parse_json(text: str) -> Any:
    """Return the data of a text.

    Raises:
        ValueError: the text is not JSON, is nested too deeply, or has half a character.
    """
    try:
        data = json.loads(text)
        if SURROGATE.search(text):
            json.dumps(data, ensure_ascii=False).encode()  # refuses what cannot be written
        return data
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def finite(data: Any) -> Any:
    """Return JSON data with None for each number that is not finite: JSON has none."""
    if isinstance(data, Mapping):
        return {name: finite(item) for name, item in data.items()}
    if isinstance(data, list | tuple):
        return [finite(item) for item in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def json_text(data: Any, **layout: Any) -> str:
    """Return JSON data as text that every reader of JSON takes, see `finite`."""
    return json.dumps(finite(data), **{"ensure_ascii": False, "allow_nan": False, **layout})


def from_json(data: Any, own: Mapping[str, type] | None = None) -> Any:
    """Return the value from which `to_json` made the data.

    Raises:
        UserError: a name is not that of a known dataclass, the class lacks a field, or the data
            are nested too deeply.
    """
    try:
        return _from_json(data, own or {})
    except RecursionError as error:
        raise UserError("the record is damaged: it is nested too deeply") from error


def _from_json(data: Any, own: Mapping[str, type]) -> Any:
    if isinstance(data, list):
        return tuple(_from_json(item, own) for item in data)
    if not isinstance(data, dict):
        return data
    if data.get(TYPE) == FLOAT:
        try:
            return float(data["value"])
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"the record is damaged: {data} is no number") from error
    kind = _find(data.get(TYPE), own)
    values = {name: _from_json(item, own) for name, item in data.items() if name != TYPE}
    try:
        return kind(**values)
    except TypeError as error:
        raise UserError(f"the record does not fit {data[TYPE]}: {error}") from error


def own_names(data: Any) -> set[str]:
    """Return the names of the experiment file's own classes whose parts are in a record."""
    if isinstance(data, list):
        return {name for item in data for name in own_names(item)}
    if not isinstance(data, dict):
        return set()
    kind = str(data.get(TYPE))
    own = {kind.removeprefix(OWN)} if kind.startswith(OWN) else set()
    return own | {name for item in data.values() for name in own_names(item)}


def record_differences(first: Any, second: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Return the paths where two records differ, with both values; None: a record lacks it.

    A field of a part of attnjax that a record lacks has its default: the field is younger than the
    record, and its default is what was done before.
    """
    if isinstance(first, dict) and isinstance(second, dict) and first.get(TYPE) == second.get(TYPE):
        different = []
        for name in {**first, **second}:
            fields = _field(first, name), _field(second, name)
            different += record_differences(*fields, path_below(path, name))
        return different
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        pairs = zip(first, second, strict=True)
        if not any(record_differences(*pair) for pair in pairs):
            return []
    return [] if first == second else [(path, plain(first), plain(second))]


def _field(record: dict[str, Any], name: str) -> Any:
    """Return a field's value in the record of a part, or its default; None: neither is known."""
    if name in record or not str(record.get(TYPE)).startswith(PACKAGE):
        return record.get(name)
    for field in dataclasses.fields(_find(record[TYPE], {})):
        if field.name == name and field.default is not dataclasses.MISSING:
            return to_json(field.default)
    return None


def plain(data: Any) -> Any:
    """Put each record in the data in words: "GatedFeedForward(width=256, activation=silu)"."""
    if isinstance(data, list):
        items = [plain(item) for item in data]
        parts = any(isinstance(item, dict) for item in data)
        return f"[{', '.join(map(str, items))}]" if parts else items
    if not isinstance(data, dict):
        return data
    if data.get(TYPE) == FLOAT:
        return data["value"]
    fields = ", ".join(f"{name}={plain(item)}" for name, item in data.items() if name != TYPE)
    return str(data.get(TYPE)).split(".")[-1] + (f"({fields})" if fields else "")


def _name(kind: type, own: Mapping[str, type]) -> str:
    if is_shipped(kind):
        return recorded_name(kind)
    for name, candidate in own.items():
        if candidate is kind:
            return OWN + name
    raise UserError(
        f"{kind.__module__}.{kind.__qualname__} cannot be recorded: "
        "define or import it in the experiment file"
    )


def _find(name: Any, own: Mapping[str, type]) -> type:
    """Return the dataclass of a name."""
    kind = None
    if isinstance(name, str) and name.startswith(OWN):
        kind = own.get(name.removeprefix(OWN))
    elif isinstance(name, str):
        kind = shipped().get(class_name(name))
    if kind is None:
        raise UserError(
            f"the record names {name!r}, which is no part of attnjax nor of the experiment file; "
            "if an earlier version of attnjax made the run, it has to be run again"
        )
    return kind
