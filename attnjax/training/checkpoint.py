"""Checkpoints: the state and progress of a run on disk."""

import itertools
import logging
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
from attnjax.training.corruption import corruption, write_digest
from attnjax.training.disk import check_space, full_disk
from attnjax.training.metrics_log import LogEnd
from attnjax.training.step import State

FOLDER = "checkpoints"
"""The name of the checkpoints' folder in the run's folder."""

DELETED = ".deleted"
"""The suffix of a checkpoint that is being deleted."""

NOTHING = {"nothing": np.zeros(1)}
"""Saved instead of the parameters of a model without parameters: Orbax saves no empty tree."""


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """The progress of a run at a checkpoint: everything but its state.

    Attributes:
        best: the lowest validation loss at the end of an epoch, or infinity if the loss of an epoch
            was not finite; None: no epoch has ended.
        waited: the number of epochs since that loss.
        last_loss: the validation loss after the last step, if that step does not end an epoch.
        seconds: the training time over all resumes, see `TrainResult`.
        epoch_end: whether the checkpoint is at the end of an epoch. Only these checkpoints and that
            at the end of the training are averaged.
        stopped: why training ended, "steps" or "patience"; None: it has not ended.
        together: the folders' names of all runs that were saved together with this one, its own
            included.
        log: the size and digest of metrics.jsonl.
    """

    best: float | None = None
    waited: int = 0
    last_loss: float | None = None
    seconds: float = 0.0
    epoch_end: bool = False
    stopped: str | None = None
    together: tuple[str, ...] = ()
    log: LogEnd = LogEnd()

    @classmethod
    def read(cls, record: dict[str, Any]) -> "RunProgress":
        """The progress from its `dataclasses.asdict`, after JSON."""
        fields = dict(record)
        together, log = tuple(fields.pop("together")), LogEnd(**fields.pop("log"))
        return cls(**fields, together=together, log=log)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence the warnings that Orbax gives when a folder is opened for reading only."""
    logger = logging.getLogger("absl")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


class Checkpoints:
    """The checkpoints of the run in `folder`, kept by Orbax; nothing is saved asynchronously.

    Parameters are an item of their own, a dict of arrays that can be read without the model. Arrays
    are saved as NumPy's, so that a checkpoint does not depend on the machine's devices.
    """

    def __init__(self, folder: Path, *, only_read: bool = False) -> None:
        """Open the folder's checkpoints; the folder is made if there is none.

        A corrupt checkpoint is named in a warning and renamed to `<step>.corrupt`, so that the one
        before it is used. With `only_read` nothing is changed: a training may be writing at the
        same moment.
        """
        self.folder = Path(folder).resolve() / FOLDER
        self._whole: set[int] = set()  # steps whose digest was checked
        if not only_read:
            for deleted in self.folder.glob(f"*{DELETED}"):
                shutil.rmtree(deleted)
            self._set_corrupt_aside()
        with full_disk(self.folder), _without_warnings():
            if not only_read:
                self.folder.mkdir(parents=True, exist_ok=True)
            here = jax.process_index()
            options = ocp.CheckpointManagerOptions(
                create=False,
                enable_async_checkpointing=False,
                cleanup_tmp_directories=not only_read,
                read_only=only_read,
                multiprocessing_options=ocp.options.MultiprocessingOptions(
                    primary_host=here, active_processes={here}, barrier_sync_key_prefix=FOLDER
                ),
            )
            self._manager = ocp.CheckpointManager(self.folder, options=options)

    def close(self) -> None:
        self._manager.close()

    @property
    def steps(self) -> list[int]:
        """The saved steps, the latest last."""
        return sorted(self._manager.all_steps())

    def save(self, state: State, progress: RunProgress) -> None:
        """Save a state and its progress; earlier checkpoints stay.

        Raises:
            UserError: the disk is full. Earlier checkpoints are whole.
        """
        step = int(state.step)
        if step in self.steps:  # interrupted again before the first step after a resume
            return
        params, rest = _arrays(state.params), _rest(state)
        with full_disk(self.folder):
            check_space(self.folder, sum(leaf.nbytes for leaf in jax.tree.leaves((params, rest))))
            self._manager.save(
                step,
                args=ocp.args.Composite(
                    params=ocp.args.StandardSave(params or NOTHING),
                    rest=ocp.args.StandardSave(rest),
                    progress=ocp.args.JsonSave(asdict(progress)),
                ),
            )
            write_digest(self.folder / str(step))
        self._whole.add(step)

    def prune(self, *, keep: int) -> None:
        """Delete all checkpoints but the last `keep` ends of epochs and those needed for a resume.

        A resume needs the last checkpoint, and the one before it in case the last is damaged. Once
        training has ended, the last is enough.
        """
        last = self.steps[-1]
        spare = 1 if self.progress(last).stopped else 2
        needed = {*self.steps[-spare:], *itertools.islice(self._epoch_ends(), keep)}
        self._delete(set(self.steps) - needed)

    def discard_after(self, step: int) -> None:
        """Delete the checkpoints after `step`."""
        self._delete(later for later in self.steps if later > step)

    def _delete(self, steps: Iterable[int]) -> None:
        """Delete checkpoints. Each is renamed first: a killed deletion leaves no half of one."""
        for step in steps:
            deleted = self.folder / f"{step}{DELETED}"
            (self.folder / str(step)).rename(deleted)
            shutil.rmtree(deleted)
        self._manager.reload()

    def restore(self, step: int, like: State) -> State:
        """The state that was saved at `step`.

        Args:
            step: one of `steps`.
            like: a state of the same shapes; `jax.eval_shape` of the initial state will do.
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

        The end of the training counts as the end of an epoch. A checkpoint that an interruption
        left in the middle of an epoch does not count.

        Raises:
            UserError: no end of an epoch is saved, or a checkpoint is corrupt.
        """
        steps = list(itertools.islice(self._epoch_ends(), last))
        if not steps:
            raise UserError(
                f"{self.folder} holds no parameters of a finished epoch: train the run first"
            )
        saved = [self._params(step) for step in steps]
        # in float64, so that the mean of equal numbers is that number
        return jax.tree.map(
            lambda *x: np.mean(x, axis=0, dtype=np.float64).astype(x[0].dtype), *saved
        )

    def progress(self, step: int) -> RunProgress:
        """The progress that was saved at `step`."""
        with self._readable(step):
            args = ocp.args.Composite(progress=ocp.args.JsonRestore())
            return RunProgress.read(self._manager.restore(step, args=args)["progress"])

    def _params(self, step: int) -> Any:
        with self._readable(step):
            args = ocp.args.Composite(params=ocp.args.StandardRestore())
            return _something(self._manager.restore(step, args=args)["params"])

    def _epoch_ends(self) -> Iterator[int]:
        """The saved steps at ends of epochs and at the end of the training, the latest first."""
        for step in reversed(self.steps):
            progress = self.progress(step)
            if progress.epoch_end or (progress.stopped and step == self.steps[-1]):
                yield step

    def _set_corrupt_aside(self) -> None:
        """Rename corrupt checkpoints, each with a warning."""
        for step in sorted(_saved(self.folder), reverse=True):
            damage = corruption(self.folder / str(step))
            if damage is None:
                self._whole.add(step)
                continue
            aside = self.folder / f"{step}.corrupt"
            shutil.rmtree(aside, ignore_errors=True)  # an earlier one of the same step
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
                    + (f"that of step {before[-1]} is there" if before else "there is no other")
                    + ": `attnjax run` sets a corrupt checkpoint aside and resumes from the one "
                    "before"
                )
            self._whole.add(step)
            yield
        except UserError:
            raise
        except Exception as error:
            if not folder.exists():
                raise UserError(
                    f"{self.folder.parent} is being trained, and the checkpoint of step {step} was "
                    "replaced by a later one: try again"
                ) from error
            error.add_note(f"while reading the checkpoint {folder}, whose files are not damaged")
            raise


def has_checkpoints(folder: Path) -> bool:
    """Whether the run in `folder` has any checkpoint, corrupt or not."""
    return bool(_saved(Path(folder) / FOLDER)) or any(Path(folder, FOLDER).glob("*.corrupt"))


def latest_step(folder: Path) -> int:
    """The step of the latest checkpoint of the run in `folder`; 0: there is none."""
    return max(_saved(Path(folder) / FOLDER), default=0)


def average(folder: Path, *, last: int) -> Any:
    """The averaged parameters of the run in `folder`; see `Checkpoints.average`."""
    if not (Path(folder) / FOLDER).is_dir():
        raise UserError(f"{folder} has no {FOLDER}: it is not the folder of a trained run")
    checkpoints = Checkpoints(folder, only_read=True)
    try:
        return checkpoints.average(last)
    finally:
        checkpoints.close()


def _saved(folder: Path) -> list[int]:
    """The steps of the checkpoints in a folder, corrupt ones left out."""
    return [int(path.name) for path in folder.glob("*") if path.name.isdigit()]


def _arrays(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)


def _something(params: Any) -> Any:
    """The parameters as they were before `save` replaced an empty dict by `NOTHING`."""
    return {} if params.keys() == NOTHING.keys() else params


def _blank(like: Any) -> Any:
    """Zeros of the shapes and types in `like`; a random key becomes some key."""

    def zeros(leaf: Any) -> Any:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.key(0)
        return np.zeros(leaf.shape, leaf.dtype)

    return jax.tree.map(zeros, like)


def _rest(state: State) -> dict[str, Any]:
    """Everything in a state but its parameters, as arrays."""
    return {
        "step": np.asarray(state.step),
        "optimizer": _arrays(state.optimizer),
        "objective": _arrays(state.objective),
        "key": np.asarray(jax.random.key_data(state.key)),
    }
