"""Runs and exports that somebody has changed, with digests that fit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from attnjax.runs.json_files import read_sealed, write_sealed
from attnjax.trained.export import with_digest


def resealed(path: Path, **values: Any) -> None:
    """Change keys of a sealed record, and its digest; `...` takes a key out."""
    content = read_sealed(path) | values
    write_sealed(path, {key: value for key, value in content.items() if value is not Ellipsis})


def export_texts(file: Path) -> dict[str, str]:
    """The texts of an export."""
    with safe_open(file, framework="numpy") as opened:
        return opened.metadata()


def re_exported(file: Path, changed: Path, texts: Mapping[str, str]) -> None:
    """Write an export with other texts, whose digest fits."""
    save_file(load_file(file), changed, with_digest(export_texts(file) | texts))
