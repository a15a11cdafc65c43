"""The exports of earlier versions: one file of safetensors with all texts in its metadata."""

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from safetensors import safe_open

from attnjax.config.record import folder_name
from attnjax.errors import UserError
from attnjax.runs.initial_parameters import params_digest
from attnjax.runs.manifest import CONFIG, EXPERIMENT
from attnjax.runs.run_folder import VOCABULARY
from attnjax.trained.imports import ARRAYS, read_arrays

TEXTS = {"format", "config", "experiment", "vocabulary", "step", "parameters"}
"""The metadata beside the digest."""


@contextmanager
def unpacked(file: Path) -> Iterator[tuple[Path, int]]:
    """A folder with the files of such an export, for a while, and the number of updates."""
    arrays = read_arrays(file)
    with safe_open(file, framework="numpy") as opened:
        texts = opened.metadata() or {}
    digest = texts.pop("digest", None)
    if texts.get("format") != "attnjax" or texts.keys() != TEXTS:
        raise UserError(f"{file} is no export of attnjax: `attnjax checkpoints` writes them")
    others = json.dumps(dict(sorted(texts.items())))
    if digest not in (None, sha256(others.encode()).hexdigest()):
        raise UserError(f"{file} is damaged: its texts are not those that were exported")
    step = texts["step"]
    if not (step.isascii() and step.isdigit() and len(step) < 10):
        raise UserError(f"{file} is damaged: its step must be a whole number; got {step[:40]!r}")
    if params_digest(arrays) != texts["parameters"]:
        raise UserError(f"{file} is damaged: its parameters are not those that were exported")
    with TemporaryDirectory(prefix="attnjax-") as above:
        folder = Path(above)
        shutil.copyfile(file, folder / ARRAYS)
        (folder / CONFIG).write_text(texts["config"], encoding="utf-8")
        (folder / EXPERIMENT).write_text(texts["experiment"], encoding="utf-8")
        try:
            for name, content in json.loads(texts["vocabulary"]).items():
                if not all(map(folder_name, name.split("/"))):
                    raise ValueError(f"{name!r} is no path below the run's folder")
                path = folder / VOCABULARY / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(base64.b64decode(content, validate=True))
        except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
            raise UserError(
                f"{file} is damaged: its vocabulary cannot be read ({error})"
            ) from error
        yield folder, int(step)
