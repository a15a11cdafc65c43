"""Runs and exports that somebody has changed, with digests that fit."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnjax.files import file_digest
from attnjax.lab.runs.json_files import read_sealed, write_sealed
from attnjax.lab.trained.export import RECORD, write_record


def resealed(path: Path, /, **values: Any) -> None:
    """Change keys of a sealed record, and its digest; `...` takes a key out.

    A result that names the file gets its new digest.
    """
    content = read_sealed(path) | values
    write_sealed(path, {key: value for key, value in content.items() if value is not Ellipsis})
    result = path.with_name("result.json")
    if path != result and result.exists() and path.name in read_sealed(result)["files"]:
        files = read_sealed(result)["files"]
        resealed(result, files=files | {path.name: file_digest(path)})


def re_exported(folder: Path, changed: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write an export with other files, whose digests fit."""
    shutil.copytree(folder, changed)
    for name, content in files.items():
        path = changed / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    write_record(changed, read_sealed(changed / RECORD)["step"])
    return changed
