"""A run at a step: its progress, and its state as arrays on the host, as saved and read."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.errors import named
from attnjax.lab.log.metrics_log import LogEnd
from attnjax.nn.paths import flat
from attnjax.training.step import State

# saved instead of the parameters of a model without parameters: Orbax saves no empty tree
NOTHING = {"nothing": np.zeros(1)}

SHOWN = 3  # the most parameters that a sentence names


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """The progress of a run at a checkpoint: everything but its state."""

    best: float | None = None  # the lowest `loss` of an epoch, infinity if one was not finite
    waited: int = 0  # the number of epochs since that loss
    epochs: float = 0.0
    # that of the validation, or, if scores decide, the score with its sign turned: lower is better;
    # None: the step is within an epoch, or there are no validation examples
    loss: float | None = None
    seconds: float = 0.0
    epoch_end: bool = False  # whether an epoch has ended at this step, and was validated
    stopped: str | None = None  # "steps" or "patience"; None: training has not ended
    together: tuple[str, ...] = ()  # the names of the folders that were saved together, its own too
    log: LogEnd = LogEnd()


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """A copy of a run at a step, on the host; training may go on and reuse the devices' memory."""

    step: int
    params: Any
    rest: dict[str, Any]  # everything in the state but the parameters
    progress: RunProgress

    @classmethod
    def of(cls, state: State, progress: RunProgress) -> "Snapshot":
        rest = {
            "step": state.step,
            "optimizer": state.optimizer,
            "objective": state.objective,
            "key": jax.random.key_data(state.key),
        }
        # a copy: on a CPU np.asarray would share the memory that the next update overwrites
        params, rest = jax.tree.map(np.array, (state.params, rest))
        return cls(step=int(state.step), params=params or NOTHING, rest=rest, progress=progress)


def blank(like: State) -> Snapshot:
    """Return a snapshot of zeros, for Orbax to restore one of these shapes."""

    def zeros(leaf: Any) -> Any:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.key(0)
        return np.zeros(leaf.shape, leaf.dtype)

    return Snapshot.of(jax.tree.map(zeros, like), RunProgress())


def state_of(params: Any, rest: dict[str, Any]) -> State:
    """Return the state that a snapshot was made of."""
    key = jax.random.wrap_key_data(rest["key"])
    return State(**{**rest, "params": something(params), "key": key})


def something(params: Any) -> Any:
    """Return the parameters as they were before an empty dict was replaced by `NOTHING`."""
    return {} if params.keys() == NOTHING.keys() else params


def difference(saved: Any, wanted: Any) -> str | None:
    """Describe how saved parameters differ from those wanted, in path or shape, or return None."""
    ours, theirs = (
        {name: [*leaf.shape] for name, leaf in flat(params).items()} for params in (wanted, saved)
    )
    clauses = []
    for what, some, others in (("not saved", ours, theirs), ("not in the model", theirs, ours)):
        if alone := sorted(some.keys() - others.keys()):
            clauses.append(f"{what}: {named([f'{name} {some[name]}' for name in alone], SHOWN)}")
    for name in sorted(ours.keys() & theirs.keys()):
        if ours[name] != theirs[name]:
            clauses.append(f"{name} is {theirs[name]}, not {ours[name]}")
    if not clauses:
        return None
    more = f" and {len(clauses) - SHOWN} more differences" if len(clauses) > SHOWN else ""
    return "; ".join(clauses[:SHOWN]) + more


def shapes(tree: Any) -> list[tuple[int, ...]]:
    """Return the sorted shapes of all arrays in a tree: the kinds of its nodes do not matter."""
    return sorted(tuple(leaf.shape) for leaf in jax.tree.leaves(tree))
