"""Initial parameters from a trained run: `Experiment.initial_parameters_from`."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from attnjax.data.vocabularies import SIDES, Vocabularies, load_vocabularies
from attnjax.data.vocabulary import LabelVocabulary
from attnjax.errors import UserError, first_line, named
from attnjax.experiment import Experiment
from attnjax.lab.checkpoints.checkpoint import has_checkpoints
from attnjax.lab.loop.run_state import Run
from attnjax.lab.runs.json_files import read_sealed, write_sealed
from attnjax.lab.runs.manifest import CONFIG, read
from attnjax.lab.runs.result import read_result, result_params
from attnjax.lab.runs.run_folder import INITIAL, RESULT, VOCABULARY
from attnjax.nn.paths import flat
from attnjax.training.train_setup import TrainSetup


def source_of(experiment: Experiment, seed: int, above: Path) -> Path:
    """Return the folder of the run whose parameters the run of a seed begins with.

    `initial_parameters_from` is a run's folder, or a variant's, which stands for the run with the
    same seed; `above` is the folder of all runs.
    """
    try:
        given = above / Path(experiment.initial_parameters_from or "").expanduser()
    except RuntimeError as error:
        raise UserError(f"initial_parameters_from: {first_line(error)}") from error
    is_run = given.name.startswith("seed-") or (given / CONFIG).exists()
    return given if is_run else given / f"seed-{seed}"


def check_initial_parameters(
    experiment: Experiment,
    vocabularies: Vocabularies,
    seeds: Iterable[int],
    above: Path,
    coming: Collection[Path],
) -> None:
    """Refuse, before anything is trained, runs that cannot begin with another run's parameters.

    `seeds` are those of the runs that begin, `coming` the folders of runs that are trained before.
    """
    if experiment.initial_parameters_from is None:
        return
    for seed in seeds:
        source = source_of(experiment, seed, above)
        if source not in coming:
            _check_source(source, vocabularies)


def _check_source(source: Path, vocabularies: Vocabularies) -> None:
    if not (source / RESULT).exists():
        state = "its training has not ended" if has_checkpoints(source) else "there is no such run"
        raise UserError(f"initial_parameters_from: {source} must be a trained run; {state}")
    theirs = load_vocabularies(source / VOCABULARY, read(source).vocabulary)
    for side, ours, other in zip(SIDES, vocabularies, theirs, strict=True):
        # labels are the task's own
        if ours is None or other is None or LabelVocabulary in (type(ours), type(other)):
            continue
        if ours.digest != other.digest:
            raise UserError(
                f"initial_parameters_from: {source} was trained with another {side} vocabulary "
                f"({other.size:,} symbols; this task has {ours.size:,}); take it by "
                f"task.vocabulary:saved-vocabulary --task.vocabulary.folder {source / VOCABULARY}"
            )


def with_initial_parameters(
    setup: TrainSetup,
    experiment: Experiment,
    vocabularies: Vocabularies,
    runs: Sequence[Run],
    above: Path,
) -> tuple[TrainSetup, str]:
    """Set up runs that begin with other runs' parameters; also say what was taken, in words.

    Parameters of equal path and shape are taken, the others drawn, as each run's folder says in
    initial_parameters.json. If the experiment draws all, the setup is returned unchanged, with "".
    """
    if experiment.initial_parameters_from is None:
        return setup, ""
    shapes = flat(setup.state_shapes().params)
    initial: dict[int, dict[str, np.ndarray]] = {}
    sentence = ""
    for run in runs:
        source = source_of(experiment, run.seed, above)
        _check_source(source, vocabularies)
        params = flat(result_params(source, read(source), read_result(source)))
        taken = {
            name: value
            for name, value in params.items()
            if name in shapes and shapes[name].shape == value.shape
        }
        drawn = [name for name in shapes if name not in taken]
        if not taken:
            raise UserError(
                f"initial_parameters_from: no parameter of {source} has the path and shape of one "
                f"of this {type(experiment.model).__name__}; it has {named(sorted(params))}"
            )
        record = {"run": str(source), "parameters": params_digest(params)}
        _write(run.folder, record | {"taken": [*taken], "drawn": drawn})
        initial[run.seed] = taken
        sentence = sentence or (
            f"begins with {len(taken)} of {len(shapes)} parameters from {source}"
            + (f"; drawn: {named(sorted(drawn))}" if drawn else "")
        )
    return replace(setup, initial=initial), sentence


def _write(folder: Path, record: dict[str, Any]) -> None:
    """Write initial_parameters.json, or check that of a run that goes on."""
    path = folder / INITIAL
    if not (has_checkpoints(folder) and path.exists()):
        write_sealed(path, record)
    elif read_sealed(path).get("parameters") != record["parameters"]:
        raise UserError(
            f"{folder} began with parameters that {record['run']} no longer has: choose another "
            "--runs"
        )


def params_digest(params: Any) -> str:
    """Return the SHA-256 of parameters and their paths."""
    total = hashlib.sha256()
    for name, value in sorted(flat(jax.tree.map(np.asarray, params)).items()):
        total.update(f"{name} {value.dtype} {value.shape}\n".encode() + value.tobytes())
    return total.hexdigest()
