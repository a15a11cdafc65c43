"""Runs that were trained elsewhere: a checkpoint and a result without metrics."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from attnjax.errors import UserError
from attnjax.nn.parameter_kinds import number_trained
from attnjax.runs.manifest import Manifest
from attnjax.runs.result import RunResult
from attnjax.runs.run_folder import write_result
from attnjax.training.checkpoints.checkpoint import Checkpoints
from attnjax.training.checkpoints.snapshot import RunProgress, Snapshot
from attnjax.training.loop.run_state import TrainResult
from attnjax.training.step import State

ARRAYS = "model.safetensors"
"""The file of a model's arrays."""


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file, by their names."""
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
