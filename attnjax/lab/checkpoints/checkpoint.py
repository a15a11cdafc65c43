"""Checkpoints: the state and progress of a run on disk."""

import glob
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from attnjax.config.read_json import read_record
from attnjax.errors import UserError
from attnjax.lab.checkpoints.corruption import (
    corruption,
    saved_steps,
    set_corrupt_aside,
    write_digest,
)
from attnjax.lab.checkpoints.disk import told_once, writable
from attnjax.lab.checkpoints.retention import epoch_ends, reasons
from attnjax.lab.checkpoints.snapshot import (
    RunProgress,
    Snapshot,
    blank,
    difference,
    shapes,
    something,
    state_of,
)
from attnjax.training.settings import EpochOrder, Training
from attnjax.training.step import State

FOLDER = "checkpoints"  # in the run's folder
DELETED = ".deleted"  # the suffix of a checkpoint that is being deleted


class Checkpoints:
    """The checkpoints of the run in `folder`, kept by Orbax.

    Parameters are an item of their own, a dict of arrays that can be read without the model. Arrays
    are saved as NumPy's, so that a checkpoint does not depend on the machine's devices. One process
    saves alone, also if several train.
    """

    def __init__(self, folder: Path, *, only_read: bool = False) -> None:
        """Open the folder's checkpoints; the folder is made if there is none.

        A corrupt checkpoint is named in a warning and renamed to `<step>.corrupt`, so that the one
        before it is used. With `only_read` nothing is changed: a training may be writing at the
        same moment.
        """
        self.folder = Path(folder).resolve() / FOLDER
        self._whole: set[int] = set()  # steps whose digest was checked
        self._progress: dict[int, RunProgress] = {}
        if not only_read:
            with writable(self.folder.parent):
                self.folder.mkdir(parents=True, exist_ok=True)
            for suffix in (DELETED, ocp.utils.TMP_DIR_SUFFIX):
                for half in self.folder.glob(f"*{suffix}*"):
                    shutil.rmtree(half)
            self._whole = set_corrupt_aside(self.folder)
        self._steps = {*saved_steps(self.folder)}
        self._orbax = _checkpointer()

    def close(self) -> None:
        self._orbax.close()

    @property
    def steps(self) -> list[int]:
        return sorted(self._steps)

    def save(self, snapshot: Snapshot) -> None:
        """Save a snapshot, in the place of one of the same step from before its validation.

        Raises:
            MachineError: the disk is full, or the folder cannot be written to. Earlier checkpoints
                are whole.
        """
        step, outcome = snapshot.step, attrgetter("epoch_end", "loss", "stopped")
        if step in self.steps and outcome(self.progress(step)) == outcome(snapshot.progress):
            return  # interrupted again before the first step after a resume
        with writable(self.folder), told_once(), _seen_by_orbax(self.folder) as seen:
            self.folder.stat()  # Orbax would make a folder that is gone
            self._delete([step] if step in self.steps else [])
            items = ocp.args.Composite(
                params=ocp.args.StandardSave(snapshot.params),
                rest=ocp.args.StandardSave(snapshot.rest),
                progress=ocp.args.JsonSave(asdict(snapshot.progress)),
            )
            self._orbax.save(seen / str(step), args=items)
            write_digest(self.folder / str(step))
        self._steps.add(step)
        self._whole.add(step)
        self._progress[step] = snapshot.progress

    def prune(self, training: Training) -> None:
        """Delete all checkpoints without a reason to be kept, see `reasons`."""
        with writable(self.folder):
            kept = reasons(self.all_progress(), training)
            self._delete(step for step, why in kept.items() if not why)

    def discard_after(self, step: int) -> None:
        self._delete([later for later in self.steps if later > step])

    def _delete(self, steps: Iterable[int]) -> None:
        """Delete checkpoints. Each is renamed first: a killed deletion leaves no half of one."""
        for step in steps:
            deleted = self.folder / f"{step}{DELETED}"
            (self.folder / str(step)).rename(deleted)
            shutil.rmtree(deleted)
            self._progress.pop(step, None)
            self._whole.discard(step)
            self._steps.discard(step)

    def restore(self, step: int, like: State) -> State:
        """Return the state saved at `step`, which must have the paths and shapes of `like`.

        Raises:
            UserError: the checkpoint is corrupt, or its arrays have other paths or shapes.
        """
        folder, wanted = self.folder / str(step), blank(like)
        with self._readable(step), _seen_by_orbax(self.folder) as seen:
            _check_shapes(folder, self._orbax.metadata(seen / str(step)).item_metadata, wanted)
        read = self._read(
            step,
            params=ocp.args.StandardRestore(wanted.params),
            rest=ocp.args.StandardRestore(wanted.rest),
        )
        if int(read["rest"]["step"]) != step:
            raise UserError(f"{folder} is the checkpoint of another step")
        return state_of(read["params"], read["rest"])

    def ends(self, count: int, order: EpochOrder = "last") -> list[int]:
        """Return the steps of the first `count` ends of epochs, or of all if fewer are saved.

        Raises:
            UserError: no end of an epoch is saved, or a checkpoint is corrupt.
        """
        steps = epoch_ends(self.all_progress(), order)[:count]
        if not steps:
            raise UserError(
                f"{self.folder} holds no parameters of a finished epoch: train the run first"
            )
        return steps

    def average(self, steps: Sequence[int]) -> Any:
        """Return the arithmetic mean of the parameters at some steps, as NumPy arrays."""
        if missing := sorted({*steps} - {*self.steps}):
            raise UserError(
                f"{self.folder} lacks the checkpoint of step {missing[0]}, which the run's "
                "parameters are made of: restore it from a copy, or train the run again"
            )
        items = [self._read(step, params=ocp.args.StandardRestore()) for step in steps]
        saved = [something(item["params"]) for item in items]
        # in float64, so that the mean of equal numbers is that number
        return jax.tree.map(
            lambda *x: np.mean(x, axis=0, dtype=np.float64).astype(x[0].dtype), *saved
        )

    def progress(self, step: int) -> RunProgress:
        if step not in self._progress:
            record = self._read(step, progress=ocp.args.JsonRestore())["progress"]
            self._progress[step] = read_record(record, RunProgress, self.folder / str(step))
        return self._progress[step]

    def all_progress(self) -> dict[int, RunProgress]:
        return {step: self.progress(step) for step in self.steps}

    def damage(self, step: int) -> str | None:
        """Describe the damage to the checkpoint of a step; None: it is whole."""
        return None if step in self._whole else corruption(self.folder / str(step))

    def _read(self, step: int, **items: Any) -> Any:
        with self._readable(step), _seen_by_orbax(self.folder) as seen:
            return self._orbax.restore(seen / str(step), args=ocp.args.Composite(**items))

    @contextmanager
    def _readable(self, step: int) -> Iterator[None]:
        folder = self.folder / str(step)
        try:
            damage = self.damage(step)
            if damage:
                before = [other for other in self.steps if other < step]
                state = f"that of step {before[-1]} is there" if before else "there is no other"
                raise UserError(
                    f"{damage}; {state}: `attnjax run` sets a corrupt checkpoint aside and resumes "
                    "from the one before"
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


@contextmanager
def _seen_by_orbax(folder: Path) -> Iterator[Path]:
    """Yield a path to a folder without brackets or asterisks: to Orbax paths are patterns."""
    if glob.escape(str(folder)) == str(folder):
        yield folder
        return
    with TemporaryDirectory() as above:
        link = Path(above) / FOLDER
        link.symlink_to(folder)
        yield link


def _check_shapes(folder: Path, saved: Any, wanted: Snapshot) -> None:
    """Refuse a checkpoint of another model or optimizer; Orbax would restore other shapes."""
    if other := difference(saved["params"].tree, wanted.params):
        raise UserError(f"{folder} is of another model: {other}")
    if shapes(saved["rest"].tree) != shapes(wanted.rest):
        raise UserError(
            f"{folder} has no state of this optimizer, so its training cannot go on; a new run "
            "can begin with its parameters (initial_parameters_from)"
        )


def _checkpointer() -> ocp.Checkpointer:
    """Return a checkpointer of Orbax for this process alone."""
    here = jax.process_index()
    alone = ocp.options.MultiprocessingOptions(
        primary_host=here, active_processes={here}, barrier_sync_key_prefix=FOLDER
    )
    items = ocp.CompositeCheckpointHandler(
        composite_options=ocp.CompositeOptions(multiprocessing_options=alone),
        params=ocp.StandardCheckpointHandler(multiprocessing_options=alone),
        rest=ocp.StandardCheckpointHandler(multiprocessing_options=alone),
        progress=ocp.JsonCheckpointHandler(multiprocessing_options=alone),
    )
    return ocp.Checkpointer(items, multiprocessing_options=alone)


def has_checkpoints(folder: Path) -> bool:
    """Return whether the run in `folder` has any checkpoint, corrupt or not."""
    return bool(saved_steps(Path(folder) / FOLDER)) or any(Path(folder, FOLDER).glob("*.corrupt"))


def has_whole_checkpoint(folder: Path) -> bool:
    """Return whether a checkpoint of the run in `folder` is as it was saved; all may be read."""
    saved = Path(folder) / FOLDER
    return any(corruption(saved / str(step)) is None for step in saved_steps(saved))


def latest_step(folder: Path) -> int:
    """Return the step of the latest checkpoint of the run in `folder`; 0: there is none."""
    return max(saved_steps(Path(folder) / FOLDER), default=0)


def average(folder: Path, count: int, order: EpochOrder = "last") -> Any:
    """Average the parameters of the run in `folder` over ends of epochs; see `Checkpoints.ends`."""
    with _opened(folder) as checkpoints:
        return checkpoints.average(checkpoints.ends(count, order))


def average_of(folder: Path, steps: Sequence[int]) -> Any:
    """Average the parameters of the run in `folder` over steps; see `Checkpoints.average`."""
    with _opened(folder) as checkpoints:
        return checkpoints.average(steps)


@contextmanager
def _opened(folder: Path) -> Iterator[Checkpoints]:
    if not (Path(folder) / FOLDER).is_dir():
        raise UserError(f"{folder} has no {FOLDER}: it is not the folder of a trained run")
    with closing(Checkpoints(folder, only_read=True)) as checkpoints:
        yield checkpoints
