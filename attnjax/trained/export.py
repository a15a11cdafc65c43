"""A trained run as one file: safetensors with everything else of the run in its metadata.

The arrays have the names of the parameters ("encoder.layers_0.feed_forward.out.kernel"). The
metadata are texts:

    format       "attnjax"
    config       the run's config.json: experiment, variant, seed, every setting
    experiment   the text of the run's experiment.py
    vocabulary   a JSON object: the files of the run's vocabulary, by name, in base64
    step         the number of updates
    parameters   the SHA-256 of the parameters and their names
    digest       the SHA-256 of all other texts; exports of earlier versions have none
"""

import base64
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from attnjax.config.record import folder_name
from attnjax.config.serialize import own_names
from attnjax.data.vocabularies import SIDES, load_vocabularies
from attnjax.errors import UserError
from attnjax.files import write_atomically
from attnjax.nn.paths import flat, unflat
from attnjax.runs.initial_parameters import params_digest
from attnjax.runs.manifest import CONFIG, EXPERIMENT, Manifest, read
from attnjax.runs.result import result_params
from attnjax.runs.run_folder import VOCABULARY
from attnjax.trained.imports import write_imported
from attnjax.trained.trained_run import read_experiment
from attnjax.training.checkpoints.checkpoint import average, latest_step

FORMAT = "attnjax"
TEXTS = {"format", "config", "experiment", "vocabulary", "step", "parameters"}
"""The metadata beside the digest."""

DIGEST = "digest"


def export(folder: Path, file: Path, *, last: int | None = None) -> int:
    """Write a trained run into a file; returns the number of parameters.

    Args:
        folder: the run's folder.
        file: the file to be written, which must not be there.
        last: the number of last epochs whose parameters are averaged; None: the parameters of the
            run's result.

    Raises:
        UserError: the run is not trained yet, is damaged, or the file is there already.
    """
    found = read(folder)
    if file.exists():
        raise UserError(f"{file} is there already: choose another file")
    params = result_params(folder, found) if last is None else average(folder, last)
    load_vocabularies(folder / VOCABULARY, found.vocabulary)  # refuses a damaged one
    words = (path for path in sorted((folder / VOCABULARY).rglob("*")) if path.is_file())
    texts = {
        "format": FORMAT,
        "config": (folder / CONFIG).read_text(encoding="utf-8"),
        "experiment": (folder / EXPERIMENT).read_text(encoding="utf-8"),
        "vocabulary": json.dumps(
            {
                path.relative_to(folder / VOCABULARY).as_posix(): base64.b64encode(
                    path.read_bytes()
                ).decode()
                for path in words
            }
        ),
        "step": str(latest_step(folder)),
        "parameters": params_digest(params),
    }
    arrays = flat(jax.tree.map(np.ascontiguousarray, params))
    try:
        # not `save_file`, which keeps the file from everybody but its owner
        write_atomically(file, save(arrays, with_digest(texts)))
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error}") from error
    return sum(array.size for array in arrays.values())


def import_export(file: Path, runs: Path) -> Path:
    """Make a run's folder of a file that `export` wrote; returns the folder.

    Nothing of the file is executed. The run is finished, and has no metrics.

    Args:
        file: the file.
        runs: the folder of all runs.

    Raises:
        UserError: the file is missing, damaged or no export of attnjax, or the run is there
            already.
    """
    texts, arrays = _read(file)
    runs.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=runs, prefix=".import-") as made:
        run = Path(made) / "run"
        _write_files(run, texts, file)
        found = read(run)
        load_vocabularies(run / VOCABULARY, found.vocabulary)
        if not own_names(found.settings):
            read_experiment(run, found)  # refuses settings of nothing
        params, step = _params(arrays, file), texts["step"]
        if params_digest(params) != texts["parameters"]:
            raise UserError(f"{file} is damaged: its parameters are not those that were exported")
        if not (step.isascii() and step.isdigit() and len(step) < 10):
            raise UserError(f"{file} is damaged: its step must be a whole number; got {step!r}")
        target = _place(runs, found)
        write_imported(run, params, variant=found.variant, seed=found.seed, step=int(step))
        target.parent.mkdir(parents=True, exist_ok=True)
        run.rename(target)
    return target


def _read(file: Path) -> tuple[Mapping[str, str], dict[str, np.ndarray]]:
    """The texts and the arrays of a file."""
    if not file.is_file():
        raise UserError(f"there is no file {file}")
    try:
        with safe_open(file, framework="numpy") as opened:
            texts = opened.metadata() or {}
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, TypeError, KeyError) as error:
        raise UserError(f"{file} is no file of safetensors that can be read: {error}") from error
    if texts.get("format") != FORMAT or texts.keys() - {DIGEST} != TEXTS:
        raise UserError(f"{file} is no export of attnjax: `attnjax checkpoints` writes such files")
    if texts.get(DIGEST) not in (None, with_digest(texts)[DIGEST]):
        raise UserError(f"{file} is damaged: its texts are not those that were exported")
    return texts, arrays


def with_digest(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts of an export with the digest of all of them."""
    others = {name: text for name, text in sorted(texts.items()) if name != DIGEST}
    return others | {DIGEST: sha256(json.dumps(others).encode()).hexdigest()}


def _params(arrays: Mapping[str, np.ndarray], file: Path) -> Any:
    """The tree of parameters whose paths are the arrays' names."""
    for name in arrays:
        above = name.split(".")[:-1]
        inside_another = any(".".join(above[: n + 1]) in arrays for n in range(len(above)))
        if inside_another or not all(map(folder_name, name.split("."))):
            raise UserError(f"{file} is damaged: {name!r} is the path of no parameter")
    return unflat(dict(arrays))


def _write_files(run: Path, texts: Mapping[str, str], file: Path) -> None:
    """Write the files of a run but its checkpoint and result."""
    (run / VOCABULARY).mkdir(parents=True)
    (run / CONFIG).write_text(texts["config"], encoding="utf-8")
    (run / EXPERIMENT).write_text(texts["experiment"], encoding="utf-8")
    try:
        words = json.loads(texts["vocabulary"])
        for name, content in words.items():
            path = run / VOCABULARY / _below(name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(base64.b64decode(content, validate=True))
    except (ValueError, AttributeError, TypeError) as error:
        raise UserError(f"{file} is damaged: its vocabulary cannot be read ({error})") from error


def _place(runs: Path, found: Manifest) -> Path:
    """The folder of the run, which must be free."""
    setting = "" if found.setting is None else f"-{found.setting}"
    folder = runs / f"{found.experiment}{setting}" / found.variant / f"seed-{found.seed}"
    if folder.exists():
        raise UserError(f"{folder} is there already: choose another --runs")
    return folder


def _below(name: str) -> str:
    """The path of a file of a vocabulary, or of the vocabulary of a side.

    Raises:
        ValueError: it is another path.
    """
    side, slash, own = name.rpartition("/")
    if (slash and side not in SIDES) or own in SIDES or not folder_name(own):
        raise ValueError(f"{name!r} is no path below the run's folder")
    return name
