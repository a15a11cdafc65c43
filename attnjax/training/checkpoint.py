"""Checkpoints: a run's state and standing on disk, whole or not there."""

import errno
import hashlib
import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

from attnjax.errors import UserError
from attnjax.training.step import State

FOLDER = "checkpoints"
"""The name of the checkpoints' folder in a run's."""

DIGEST = "digest"
"""The name of the file beside a checkpoint's; it finds a flipped bit, which Orbax need not."""

SPARE = 2**24
"""Bytes that a disk must have beside what is saved."""

NOTHING = {"nothing": np.zeros(1)}
"""Stands for the parameters of a model that has none: Orbax saves no empty tree."""


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """Where a run stands, beside its state.

    Attributes:
        best: the lowest validation loss so far.
        waited: epochs in a row that did not lower it.
        seconds: it was trained for, over all resumes; see `TrainResult`.
        epoch_end: this is the end of an epoch or of the training; only such are averaged.
        stopped: why training ended, "steps" or "patience"; None: it has not.
    """

    best: float | None = None
    waited: int = 0
    seconds: float = 0.0
    epoch_end: bool = False
    stopped: str | None = None


class Checkpoints:
    """The checkpoints of the run in `folder`, by Orbax; every call is finished when it returns.

    Parameters are an item of their own, a dict of arrays that reads back without a model; arrays
    are NumPy's, so that nothing of the machine's devices is stored.
    """

    def __init__(self, folder: Path, *, only_read: bool = False) -> None:
        """Open the folder's checkpoints, or make room for them.

        Who only reads leaves alone what a training is writing at that moment.
        """
        self.folder = Path(folder).resolve() / FOLDER
        options = ocp.CheckpointManagerOptions(
            enable_async_checkpointing=False,
            cleanup_tmp_directories=not only_read,
            read_only=only_read,
        )
        with full_disk(self.folder):
            self._manager = ocp.CheckpointManager(self.folder, options=options)

    def close(self) -> None:
        self._manager.close()

    @property
    def steps(self) -> list[int]:
        """The steps that are saved, the latest last."""
        return sorted(self._manager.all_steps())

    def save(self, state: State, standing: RunProgress, *, keep: int) -> None:
        """Save a state; then only it and the last `keep` ends of epochs stay.

        Raises:
            UserError: the disk is full. What was saved before is whole.
        """
        step = int(state.step)
        if step in self.steps:  # interrupted before the first step after going on from it
            return
        params, rest = _arrays(state.params), _rest(state)
        with full_disk(self.folder):
            # Orbax's threads print their tracebacks: better not to start than to run out of space
            size = sum(leaf.nbytes for leaf in jax.tree.leaves((params, rest)))
            if shutil.disk_usage(self.folder).free < size + SPARE:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._manager.save(
                step,
                args=ocp.args.Composite(
                    params=ocp.args.StandardSave(params or NOTHING),
                    rest=ocp.args.StandardSave(rest),
                    standing=ocp.args.JsonSave(asdict(standing)),
                ),
            )
            digest = self.folder / str(step) / DIGEST
            unnamed = digest.with_name(f"{DIGEST}.tmp")
            unnamed.write_text(_digest(digest.parent))
            unnamed.replace(digest)  # at once, for whoever reads meanwhile
        needed = {step, *itertools.islice(self._epoch_ends(), keep)}
        for other in set(self.steps) - needed:
            self._manager.delete(other)

    def restore(self, like: State) -> tuple[State, RunProgress] | None:
        """The latest state and its standing; None where nothing is saved.

        like gives the tree and its shapes (`jax.eval_shape` of the initial state will do).

        Raises:
            UserError: the checkpoint cannot be read.
        """
        if not self.steps:
            return None
        step = self.steps[-1]
        self._check(step)
        with self._readable(step):
            read = self._manager.restore(
                step,
                args=ocp.args.Composite(
                    params=ocp.args.StandardRestore(_blank(like.params) or NOTHING),
                    rest=ocp.args.StandardRestore(_rest(_blank(like))),
                ),
            )
        rest = read["rest"]
        state = State(
            step=rest["step"],
            params=_something(read["params"]),
            optimizer=rest["optimizer"],
            objective=rest["objective"],
            key=jax.random.wrap_key_data(rest["key"]),
        )
        return state, self._standing(step)

    def average(self, last: int) -> Any:
        """The arithmetic mean of the parameters at the last `last` ends of epochs, as NumPy arrays.

        A checkpoint that an interruption left in the middle of an epoch does not count.

        Raises:
            UserError: no end of an epoch is saved, or one cannot be read.
        """
        steps = list(itertools.islice(self._epoch_ends(), last))
        if not steps:
            raise UserError(
                f"{self.folder} holds no parameters of a finished epoch: train the run first"
            )
        saved = [self._params(step) for step in steps]
        # in double precision the mean of ten equal numbers is that number
        return jax.tree.map(
            lambda *x: np.mean(x, axis=0, dtype=np.float64).astype(x[0].dtype), *saved
        )

    def _params(self, step: int) -> Any:
        self._check(step)
        with self._readable(step):
            args = ocp.args.Composite(params=ocp.args.StandardRestore())
            return _something(self._manager.restore(step, args=args)["params"])

    def _epoch_ends(self) -> Iterator[int]:
        """The steps at ends of epochs, the latest first."""
        return (step for step in reversed(self.steps) if self._standing(step).epoch_end)

    def _standing(self, step: int) -> RunProgress:
        with self._readable(step):
            read = self._manager.restore(
                step, args=ocp.args.Composite(standing=ocp.args.JsonRestore())
            )
            return RunProgress(**read["standing"])

    def _check(self, step: int) -> None:
        """Compare the files with their digest, if the run was not killed before it was written."""
        with self._readable(step):
            folder = self.folder / str(step)
            digest = folder / DIGEST
            if digest.exists() and digest.read_text() != _digest(folder):
                raise ValueError(f"the files in {folder} are not those that were saved")

    @contextmanager
    def _readable(self, step: int) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # a broken file can raise anything in Orbax and TensorStore
            if not (self.folder / str(step)).exists():
                raise UserError(
                    f"{self.folder.parent} is being trained, and the checkpoint of step {step} has "
                    "made room for a later one: try again"
                ) from error
            others = [other for other in self.steps if other < step]
            raise UserError(
                f"the checkpoint of step {step} cannot be read: delete {self.folder / str(step)} "
                + (f"to go on from step {others[-1]}" if others else "to begin again")
            ) from error


def average(folder: Path, *, last: int) -> Any:
    """The averaged parameters of the run in `folder`, see `Checkpoints.average`."""
    if not (Path(folder) / FOLDER).is_dir():
        raise UserError(f"{folder} has no {FOLDER}: it is not the folder of a trained run")
    checkpoints = Checkpoints(folder, only_read=True)
    try:
        return checkpoints.average(last)
    finally:
        checkpoints.close()


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """Turn what a full disk raises into a sentence."""
    try:
        yield
    except Exception as error:
        # TensorStore reports it as a ValueError with the system's words
        if getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error):
            raise UserError(
                f"the disk of {folder} is full: what was saved before is whole; "
                "make room and repeat the command to go on from there"
            ) from error
        raise


def _digest(folder: Path) -> str:
    """The SHA-256 of all files in a checkpoint's folder, their names included."""
    found = (
        path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(DIGEST)
    )
    total = hashlib.sha256()
    for path in sorted(found):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder)} {content}\n".encode())
    return total.hexdigest()


def _arrays(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)


def _something(params: Any) -> Any:
    """The parameters as they were given to be saved."""
    return {} if params.keys() == NOTHING.keys() else params


def _blank(like: Any) -> Any:
    """Zeros of the shapes and types in like; a key stays one."""

    def zeros(leaf: Any) -> Any:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.key(0)
        return np.zeros(leaf.shape, leaf.dtype)

    return jax.tree.map(zeros, like)


def _rest(state: State) -> dict[str, Any]:
    """All of a state but its parameters, as arrays."""
    return {
        "step": np.asarray(state.step),
        "optimizer": _arrays(state.optimizer),
        "objective": _arrays(state.objective),
        "key": np.asarray(jax.random.key_data(state.key)),
    }
