"""A run's state as arrays on the host: the form in which it is saved and read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.nn.paths import flat, named
from attnjax.training.checkpoints.run_progress import RunProgress
from attnjax.training.step import State

NOTHING = {"nothing": np.zeros(1)}
"""Saved instead of the parameters of a model without parameters: Orbax saves no empty tree."""

SHOWN = 3
"""The most parameters that a sentence names."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """A copy of a run at a step, on the host; training may go on and reuse the devices' memory.

    Attributes:
        params: the parameters, or `NOTHING`.
        rest: everything else in the state.
    """

    step: int
    params: Any
    rest: dict[str, Any]
    progress: RunProgress

    @classmethod
    def of(cls, state: State, progress: RunProgress) -> "Snapshot":
        """Copy a state."""
        return cls(
            step=int(state.step),
            params=_copied(state.params) or NOTHING,
            rest=_rest(state),
            progress=progress,
        )

    @property
    def size(self) -> int:
        """The number of bytes of all arrays."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves((self.params, self.rest)))


def blank(like: State) -> Snapshot:
    """Zeros of the shapes in `like`, for Orbax to read a snapshot of these shapes."""

    def zeros(leaf: Any) -> Any:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.key(0)
        return np.zeros(leaf.shape, leaf.dtype)

    return Snapshot.of(jax.tree.map(zeros, like), RunProgress())


def state_of(params: Any, rest: dict[str, Any]) -> State:
    """The state that a snapshot was made of."""
    return State(
        step=rest["step"],
        params=something(params),
        optimizer=rest["optimizer"],
        objective=rest["objective"],
        key=jax.random.wrap_key_data(rest["key"]),
    )


def something(params: Any) -> Any:
    """The parameters as they were before an empty dict was replaced by `NOTHING`."""
    return {} if params.keys() == NOTHING.keys() else params


def difference(saved: Any, wanted: Any) -> str | None:
    """How saved parameters differ from those wanted, in paths or shapes; None: they do not."""
    ours, theirs = (
        {name: tuple(leaf.shape) for name, leaf in flat(params).items()}
        for params in (wanted, saved)
    )
    clauses = [
        *_clauses("not saved", sorted(ours.keys() - theirs.keys()), ours),
        *_clauses("not in the model", sorted(theirs.keys() - ours.keys()), theirs),
    ]
    for name in sorted(ours.keys() & theirs.keys()):
        if ours[name] != theirs[name]:
            clauses.append(f"{name} is {_drawn(theirs[name])}, not {_drawn(ours[name])}")
    if not clauses:
        return None
    more = f" and {len(clauses) - SHOWN} more differences" if len(clauses) > SHOWN else ""
    return "; ".join(clauses[:SHOWN]) + more


def _clauses(what: str, names: list[str], shapes: dict[str, tuple[int, ...]]) -> Iterator[str]:
    """One clause for all parameters of one side."""
    if names:
        yield f"{what}: {named([f'{name} {_drawn(shapes[name])}' for name in names], SHOWN)}"


def shapes(tree: Any) -> list[tuple[int, ...]]:
    """The shapes of all arrays in a tree, sorted: the kinds of its nodes do not matter."""
    return sorted(tuple(leaf.shape) for leaf in jax.tree.leaves(tree))


def _drawn(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _copied(tree: Any) -> Any:
    # on a CPU np.asarray would share the memory that the next update overwrites
    return jax.tree.map(lambda leaf: np.array(leaf, copy=True), tree)


def _rest(state: State) -> dict[str, Any]:
    return {
        "step": np.array(state.step),
        "optimizer": _copied(state.optimizer),
        "objective": _copied(state.objective),
        "key": np.array(jax.random.key_data(state.key)),
    }
