"""A run: one seed, one folder. Runs that train together are members of a group."""

from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.training.checkpoint import Checkpoints, RunProgress
from attnjax.training.metrics_log import Record
from attnjax.training.step import State


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training.

    Attributes:
        folder: where all of it is kept.
        seed: of all that is random in it.
    """

    folder: Path
    seed: int


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainResult:
    """What a finished training leaves.

    Attributes:
        params: the mean of the parameters at the last `Training.average` ends of epochs, in NumPy.
        step: updates made.
        epochs: the same in passes over the data.
        seconds: by the clock, over all resumes; runs that train together share the time equally.
        stopped: why it ended, "steps" or "patience".
        best: the lowest validation loss; None without validation examples.
    """

    params: Any
    step: int
    epochs: float
    seconds: float
    stopped: str
    best: float | None


class RunState:
    """A run as it is on disk, and where it stands."""

    def __init__(self, run: Run, like: State) -> None:
        """Open the run's folder; like has the shapes of its state."""
        self.run = run
        self.checkpoints = Checkpoints(run.folder)
        restored = self.checkpoints.restore(like)
        self.state: State | None = None
        self.standing = RunProgress()
        if restored is not None:
            self.state, self.standing = restored
        self.step = 0 if self.state is None else int(self.state.step)
        self.record = Record(run.folder, step=self.step)

    def close(self) -> None:
        self.checkpoints.close()
        self.record.close()


def stack(states: list[State]) -> State:
    """States of several runs as one, with a leading axis of runs."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def unstack(state: State, count: int) -> list[State]:
    """The opposite of `stack`, on the host."""

    def host(leaf: jax.Array) -> Any:
        return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)

    state = jax.tree.map(host, state)
    return [jax.tree.map(itemgetter(index), state) for index in range(count)]
