"""A site: what one says of a cluster, once, in a small TOML file; `launch/sites/` has examples."""

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from attnjax.config.constraints import check_value, describe
from attnjax.config.walk import field_types
from attnjax.errors import UserError, unknown


def read_site[Site](path: Path, kind: type[Site]) -> Site:
    """Read a site from a TOML file, whose keys are the fields of the dataclass.

    Raises:
        UserError: the file cannot be read or is not TOML, or as `from_keys`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the site file {path} cannot be read: {error}") from error
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"the site file {path} is not TOML: {error}") from error
    return from_keys(content, kind, path)


def from_keys[T](content: Mapping[str, Any], kind: type[T], path: Path) -> T:
    """A dataclass from the content of a file, which every error names.

    Raises:
        UserError: a key is unknown (the nearest is named) or missing, or a value does not fit.
    """
    hints = field_types(kind)
    values = {key: _tuples(value) for key, value in content.items()}
    for key, value in values.items():
        if key not in hints:
            raise UserError(f"{path}: {unknown('key', key, hints)}")
        check_value(hints[key], value, f"{path}: {key}")
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in values and field.default is field.default_factory is MISSING:
            raise UserError(
                f"{path}: the key {field.name} is missing: {describe(hints[field.name])}"
            )
    try:
        return kind(**values)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
