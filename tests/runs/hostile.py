"""Runs and exports that somebody has changed, with digests that fit."""

import base64
import json
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file, save_file

from attnjax.runs.initial_parameters import params_digest
from attnjax.runs.json_files import read_sealed, write_sealed
from attnjax.trained.export import RECORD, write_record


def resealed(path: Path, **values: Any) -> None:
    """Change keys of a sealed record, and its digest; `...` takes a key out."""
    content = read_sealed(path) | values
    write_sealed(path, {key: value for key, value in content.items() if value is not Ellipsis})


def re_exported(folder: Path, changed: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write an export with other files, whose digests fit."""
    shutil.copytree(folder, changed)
    for name, content in files.items():
        path = changed / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    write_record(changed, read_sealed(changed / RECORD)["step"])
    return changed


def single_file(folder: Path, file: Path, **changed: str) -> Path:
    """Write an export as earlier versions did: one file, with all texts in its metadata."""
    arrays = load_file(folder / "model.safetensors")
    vocabulary = {
        path.relative_to(folder / "vocabulary").as_posix(): base64.b64encode(
            path.read_bytes()
        ).decode()
        for path in sorted((folder / "vocabulary").rglob("*"))
        if path.is_file()
    }
    texts = {
        "format": "attnjax",
        "config": (folder / "config.json").read_text(encoding="utf-8"),
        "experiment": (folder / "experiment.py").read_text(encoding="utf-8"),
        "vocabulary": json.dumps(vocabulary),
        "step": str(read_sealed(folder / RECORD)["step"]),
        "parameters": params_digest(arrays),
    } | changed
    digest = sha256(json.dumps(dict(sorted(texts.items()))).encode()).hexdigest()
    save_file(arrays, file, {"digest": digest} | texts)
    return file
