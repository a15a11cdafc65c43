"""Checkpoints: a run's state and progress on disk, whole or not there."""

import errno
import hashlib
import itertools
import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

from attnjax.errors import UserError, warn
from attnjax.training.metrics_log import LogEnd
from attnjax.training.step import State

FOLDER = "checkpoints"
"""The name of the checkpoints' folder in a run's."""

DIGEST = "digest"
"""The name of the file beside a checkpoint's; it finds a flipped bit, which Orbax need not."""

DELETED = ".deleted"
"""The end of the name of a checkpoint that is being deleted."""

SPARE = 2**24
"""Bytes that a disk must have beside what is saved."""

NOTHING = {"nothing": np.zeros(1)}
"""Stands for the parameters of a model that has none: Orbax saves no empty tree."""


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """How far a run has come, beside its state.

    Attributes:
        best: the lowest validation loss at the end of an epoch; infinity after one that is not
            finite.
        waited: epochs in a row that did not lower it.
        last_loss: the validation loss after the last step, where that is within an epoch.
        seconds: the run was trained for, over all resumes; see `TrainResult`.
        epoch_end: this is the end of an epoch. Only such are averaged, and the end of the training.
        stopped: why training ended, "steps" or "patience"; None: it has not.
        together: the folders' names of the runs that were saved with this one, its own among them.
        log: where metrics.jsonl ended.
    """

    best: float | None = None
    waited: int = 0
    last_loss: float | None = None
    seconds: float = 0.0
    epoch_end: bool = False
    stopped: str | None = None
    together: tuple[str, ...] = ()
    log: LogEnd = LogEnd()


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Leave out what Orbax warns of when a folder is opened for reading only."""
    logger = logging.getLogger("absl")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


class Checkpoints:
    """The checkpoints of the run in `folder`, by Orbax; every call is finished when it returns.

    Parameters are an item of their own, a dict of arrays that reads back without a model; arrays
    are NumPy's, so that nothing of the machine's devices is stored.
    """

    def __init__(self, folder: Path, *, only_read: bool = False) -> None:
        """Open the folder's checkpoints, or make room for them.

        A corrupt checkpoint is named in a warning and kept aside as `<step>.corrupt`, and the one
        before takes its place. Who only reads leaves everything as it is: a training may be writing
        at that moment.
        """
        self.folder = Path(folder).resolve() / FOLDER
        self._whole: set[int] = set()  # the steps whose digest was compared
        if not only_read:
            for deleted in self.folder.glob(f"*{DELETED}"):
                shutil.rmtree(deleted)
            self._set_corrupt_aside()
        with full_disk(self.folder), _without_warnings():
            options = ocp.CheckpointManagerOptions(
                enable_async_checkpointing=False,
                cleanup_tmp_directories=not only_read,
                read_only=only_read,
            )
            self._manager = ocp.CheckpointManager(self.folder, options=options)

    def close(self) -> None:
        self._manager.close()

    @property
    def steps(self) -> list[int]:
        """The steps that are saved, the latest last."""
        return sorted(self._manager.all_steps())

    def save(self, state: State, progress: RunProgress) -> None:
        """Save a state beside those that are there.

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
                    progress=ocp.args.JsonSave(asdict(progress)),
                ),
            )
            digest = self.folder / str(step) / DIGEST
            unnamed = digest.with_name(f"{DIGEST}.tmp")
            unnamed.write_text(_digest(digest.parent))
            unnamed.replace(digest)  # at once, for whoever reads meanwhile
        self._whole.add(step)

    def prune(self, *, keep: int) -> None:
        """Keep the last `keep` ends of epochs, and what training may have to go on from.

        That is the last checkpoint, and the one before in case the last gets damaged; once training
        has ended, the last alone.
        """
        last = self.steps[-1]
        spare = 1 if self.progress(last).stopped else 2
        needed = {*self.steps[-spare:], *itertools.islice(self._epoch_ends(), keep)}
        self._delete(set(self.steps) - needed)

    def discard_after(self, step: int) -> None:
        """Delete what is later than `step`."""
        self._delete(later for later in self.steps if later > step)

    def _delete(self, steps: Iterable[int]) -> None:
        """Delete checkpoints, each at once: a killed deletion leaves no half of one."""
        for step in steps:
            deleted = self.folder / f"{step}{DELETED}"
            (self.folder / str(step)).rename(deleted)
            shutil.rmtree(deleted)
        self._manager.reload()

    def restore(self, step: int, like: State) -> State:
        """The state that was saved at `step`.

        like gives the tree and its shapes (`jax.eval_shape` of the initial state will do).
        """
        with self._readable(step):
            read = self._manager.restore(
                step,
                args=ocp.args.Composite(
                    params=ocp.args.StandardRestore(_blank(like.params) or NOTHING),
                    rest=ocp.args.StandardRestore(_rest(_blank(like))),
                ),
            )
        rest = read["rest"]
        return State(
            step=rest["step"],
            params=_something(read["params"]),
            optimizer=rest["optimizer"],
            objective=rest["objective"],
            key=jax.random.wrap_key_data(rest["key"]),
        )

    def average(self, last: int) -> Any:
        """The arithmetic mean of the parameters at the last `last` ends of epochs, as NumPy arrays.

        The end of the training counts as one. A checkpoint that an interruption left in the middle
        of an epoch does not.

        Raises:
            UserError: no end of an epoch is saved, or one is corrupt.
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

    def progress(self, step: int) -> RunProgress:
        """How far the run had come at `step`."""
        with self._readable(step):
            args = ocp.args.Composite(progress=ocp.args.JsonRestore())
            read = self._manager.restore(step, args=args)["progress"]
            together, log = tuple(read.pop("together")), LogEnd(**read.pop("log"))
            return RunProgress(**read, together=together, log=log)

    def _params(self, step: int) -> Any:
        with self._readable(step):
            args = ocp.args.Composite(params=ocp.args.StandardRestore())
            return _something(self._manager.restore(step, args=args)["params"])

    def _epoch_ends(self) -> Iterator[int]:
        """The steps at ends of epochs, and the last one of the training, the latest first."""
        for step in reversed(self.steps):
            progress = self.progress(step)
            if progress.epoch_end or (progress.stopped and step == self.steps[-1]):
                yield step

    def _set_corrupt_aside(self) -> None:
        """Rename the corrupt checkpoints."""
        for step in sorted(_saved(self.folder), reverse=True):
            damage = corruption(self.folder / str(step))
            if damage is None:
                self._whole.add(step)
                continue
            aside = self.folder / f"{step}.corrupt"
            shutil.rmtree(aside, ignore_errors=True)  # of the same step, earlier
            (self.folder / str(step)).rename(aside)
            latest = max(_saved(self.folder), default=None)
            goes_on = f"goes on from step {latest}" if latest else "begins again"
            warn(f"{damage}; it is kept aside as {aside.name}, and training {goes_on}")

    @contextmanager
    def _readable(self, step: int) -> Iterator[None]:
        folder = self.folder / str(step)
        try:
            damage = None if step in self._whole else corruption(folder)
            if damage:
                before = [other for other in self.steps if other < step]
                raise UserError(
                    f"{damage}; "
                    + (f"the one of step {before[-1]} is there" if before else "there is no other")
                    + ": `attnjax run` keeps a corrupt one aside and goes on from the one before"
                )
            self._whole.add(step)
            yield
        except UserError:
            raise
        except Exception as error:
            if not folder.exists():
                raise UserError(
                    f"{self.folder.parent} is being trained, and the checkpoint of step {step} has "
                    "made room for a later one: try again"
                ) from error
            error.add_note(f"while the checkpoint {folder} was read, which is as it was saved")
            raise


def corruption(folder: Path) -> str | None:
    """What is wrong with a checkpoint's files, in words; None: they are as they were saved."""
    digest = folder / DIGEST
    if not folder.is_dir():
        raise FileNotFoundError(folder)
    if not digest.is_file():
        return f"the checkpoint {folder} has no digest: its save was cut off"
    if digest.read_bytes() != _digest(folder).encode():
        return f"the checkpoint {folder} is corrupt: its files are not those that were saved"
    return None


def has_checkpoints(folder: Path) -> bool:
    """Whether the run in `folder` has any, corrupt ones among them."""
    return bool(_saved(Path(folder) / FOLDER)) or any(Path(folder, FOLDER).glob("*.corrupt"))


def average(folder: Path, *, last: int) -> Any:
    """The averaged parameters of the run in `folder`, see `Checkpoints.average`."""
    if not (Path(folder) / FOLDER).is_dir():
        raise UserError(f"{folder} has no {FOLDER}: it is not the folder of a trained run")
    checkpoints = Checkpoints(folder, only_read=True)
    try:
        return checkpoints.average(last)
    finally:
        checkpoints.close()


def _saved(folder: Path) -> list[int]:
    """The steps in a folder of checkpoints."""
    return [int(path.name) for path in folder.glob("*") if path.name.isdigit()]


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
