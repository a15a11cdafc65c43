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
    """Read a site from a TOML file.

    Args:
        path: the file.
        kind: the dataclass of the site; its fields are the keys of the file.

    Raises:
        UserError: the file cannot be read, is not TOML, has an unknown key (the nearest is named),
            lacks a key, or has a value of the wrong type.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the site file {path} cannot be read: {error}") from error
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"the site file {path} is not TOML: {error}") from error
    return site_of(content, kind, path)


def site_of[Site](content: Mapping[str, Any], kind: type[Site], path: Path) -> Site:
    """As `read_site`, for the content of the file."""
    hints = field_types(kind)
    values = {key: tuple(one) if isinstance(one, list) else one for key, one in content.items()}
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
