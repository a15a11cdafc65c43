"""A trained run as a folder that any program can read.

model.safetensors  the parameters by their paths ("encoder.layers_0.feed_forward.out.kernel")
config.json        experiment, variant, seed, every setting
experiment.py      the experiment file
modules/           modules of one's own that it imports from beside it
vocabulary/        of both sides
export.json        the number of updates and the digests of the other files
"""

import shutil
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from attnjax.config.read_json import folder_name, read_record
from attnjax.config.serialize import own_names
from attnjax.data.vocabularies import load_vocabularies
from attnjax.errors import UserError
from attnjax.files import file_digest, new_folder
from attnjax.lab.checkpoints.checkpoint import Checkpoints, average, latest_step
from attnjax.lab.checkpoints.snapshot import RunProgress, Snapshot
from attnjax.lab.loop.run_state import TrainResult
from attnjax.lab.runs.json_files import read_sealed, write_sealed
from attnjax.lab.runs.manifest import CONFIG, EXPERIMENT, Manifest, read
from attnjax.lab.runs.module_copies import MODULES, read_modules, write_modules
from attnjax.lab.runs.result import RunResult, read_result, result_params
from attnjax.lab.runs.run_folder import VOCABULARY, write_result
from attnjax.lab.trained.trained_run import check_params, read_experiment
from attnjax.nn.parameter_kinds import number_trained
from attnjax.nn.paths import flat, unflat
from attnjax.training.step import State

RECORD = "export.json"

ARRAYS = "model.safetensors"
"""The file of a model's arrays."""


@dataclass(frozen=True, kw_only=True)
class ExportRecord:
    """The content of export.json: the number of updates, and the digests of the files by path."""

    step: Annotated[int, Interval(ge=0, lt=2**31)]
    files: Mapping[str, str]


def export(run: Path, folder: Path, *, last: int | None = None) -> int:
    """Write a trained run into a new folder; returns the number of parameters.

    `last` is the number of last epochs whose parameters are averaged; None: those of the result.

    Raises:
        UserError: the run is not trained yet, is damaged, or the folder is there already; or a
            file of the run is a link.
    """
    manifest = read(run)
    if folder.exists():
        raise UserError(f"{folder} is there already: choose another folder")
    if last is None:
        params = result_params(run, manifest, read_result(run))
    else:
        params = average(run, last)
    vocabularies = load_vocabularies(run / VOCABULARY, manifest.vocabulary)
    arrays = flat(jax.tree.map(np.ascontiguousarray, params))
    _refuse_links(run, [run / CONFIG, run / EXPERIMENT])
    try:
        with new_folder(folder) as beside:
            for name in (CONFIG, EXPERIMENT):
                shutil.copyfile(run / name, beside / name)
            vocabularies.save(beside / VOCABULARY)
            write_modules(beside, read_modules(run, manifest.modules))
            # not `save_file`, which keeps the file from everybody but its owner
            (beside / ARRAYS).write_bytes(save(arrays))
            write_record(beside, latest_step(run))
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error}") from error
    return sum(array.size for array in arrays.values())


def write_record(folder: Path, step: int) -> None:
    """Write export.json, once the other files are written."""
    write_sealed(folder / RECORD, asdict(ExportRecord(step=step, files=_digests(folder))))


def import_export(source: Path, runs: Path) -> Path:
    """Make a run's folder, below `runs`, of an export; returns the run's folder.

    Nothing of the export is executed. The run is finished, and has no metrics.

    Raises:
        UserError: the export is missing, damaged, none of attnjax or of another model, or the run
            is there already.
    """
    record, manifest = _whole_record(source), read(source)
    vocabularies = load_vocabularies(source / VOCABULARY, manifest.vocabulary)
    params = _params(source / ARRAYS)
    if not own_names(manifest.settings):
        # those of one's own parts are compared when the run is opened
        experiment = read_experiment(source, manifest).with_vocabularies(vocabularies)
        check_params(params, experiment.model, vocabularies, source)
    run = _place(runs, manifest)
    run.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(run) as beside:
        for name in (CONFIG, EXPERIMENT):
            shutil.copyfile(source / name, beside / name)
        vocabularies.save(beside / VOCABULARY)
        write_modules(beside, read_modules(source, manifest.modules))
        write_imported(beside, params, manifest, step=record.step)
    return run


def _whole_record(folder: Path) -> ExportRecord:
    """Return the record of an export, after checking that its files are as they were exported."""
    path = folder / RECORD
    if not path.is_file():
        raise UserError(
            f"{folder} is no export of attnjax: it has no {RECORD}; `attnjax checkpoints RUN "
            "--export FOLDER` writes exports"
        )
    record = read_record(read_sealed(path), ExportRecord, path)
    digests = _digests(folder)
    for name in sorted({*record.files, *digests, CONFIG, EXPERIMENT, ARRAYS}):
        if name not in digests or digests[name] != record.files.get(name):
            raise UserError(f"{folder} is damaged: {name!r} is not as it was exported")
    return record


def _digests(folder: Path) -> dict[str, str]:
    """Return the digests of an export's files, by their paths in the folder; a link is refused."""
    names = (CONFIG, EXPERIMENT, ARRAYS, VOCABULARY, MODULES)
    paths = [folder / name for name in names]
    _refuse_links(folder, paths)
    below = [path for name in (VOCABULARY, MODULES) for path in sorted((folder / name).rglob("*"))]
    _refuse_links(folder, below)
    files = (path for path in (*paths, *below) if path.is_file())
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}


def _refuse_links(folder: Path, paths: Iterable[Path]) -> None:
    """Refuse to follow links to somebody's files, and to read what is no file."""
    for path in paths:
        plain = path.is_file() or path.is_dir() or not path.exists()
        if path.is_symlink() or not plain:
            name = path.relative_to(folder).as_posix()
            raise UserError(f"{folder} is damaged: {name!r} is a link, or no file at all")


def _params(file: Path) -> Any:
    """Return the tree of parameters whose paths are the names of a file's arrays."""
    arrays = read_arrays(file)
    for name in arrays:
        above = name.split(".")[:-1]
        inside_another = any(".".join(above[: n + 1]) in arrays for n in range(len(above)))
        if inside_another or not all(map(folder_name, name.split("."))):
            raise UserError(f"{file} is damaged: {name!r} is the path of no parameter")
    return unflat(arrays)


def _place(runs: Path, manifest: Manifest) -> Path:
    """Return the folder of the run, which must be free."""
    setting = "" if manifest.setting is None else f"-{manifest.setting}"
    folder = runs / f"{manifest.experiment}{setting}" / manifest.variant / f"seed-{manifest.seed}"
    if folder.exists():
        raise UserError(f"{folder} is there already: choose another --runs")
    return folder


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a safetensors file, by their names."""
    if not path.is_file():
        raise UserError(f"{path.name} was wanted; there is no file {path}")
    try:
        return load_file(path)
    except (SafetensorError, OSError, TypeError, KeyError) as error:
        raise UserError(f"{path} is no file of safetensors that can be read: {error}") from error


def write_imported(run: Path, params: Any, manifest: Manifest, *, step: int = 1) -> None:
    """Write the checkpoint and the result of a run that was trained elsewhere.

    There is no state of an optimizer: the run can be evaluated, and begin other runs, but its own
    training does not go on. The folder has the manifest and vocabularies; `step` is the number of
    updates that the parameters have had.
    """
    with closing(Checkpoints(run)) as checkpoints:
        state = State(jnp.int32(step), params, {}, {}, jax.random.key(0))
        checkpoints.save(Snapshot.of(state, RunProgress(epoch_end=True, stopped="steps")))
    outcome = TrainResult(
        params=params,
        step=step,
        averaged=[step],
        epochs=0.0,
        seconds=0.0,
        stopped="steps",
        best=None,
    )
    result = RunResult.of(outcome, manifest)
    write_result(run, replace(result, parameters=number_trained(params)))
