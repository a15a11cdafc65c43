"""Snapshots: a copy that training cannot reach, and what differs from another model, in words."""

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.lab.checkpoints.snapshot import RunProgress, Snapshot, difference
from attnjax.training.step import State


def test_a_snapshot_shares_no_memory_with_the_state():
    params = {"kernel": np.ones(3, np.float32)}
    state = State(jnp.int32(1), params, {"mean": params["kernel"]}, {}, jax.random.key(0))
    snapshot = Snapshot.of(state, RunProgress())
    params["kernel"][:] = 2.0
    assert snapshot.params["kernel"].tolist() == [1.0, 1.0, 1.0]
    assert snapshot.rest["optimizer"]["mean"].tolist() == [1.0, 1.0, 1.0]


def test_differing_paths_and_shapes_are_named():
    ours = {"a": {"kernel": np.ones((2, 3))}, "b": np.ones(4), "c": np.ones(5)}
    theirs = {"a": {"kernel": np.ones((2, 4))}, "b": np.ones(4), "d": {"e": np.ones(())}}
    assert difference(ours, ours) is None
    assert difference(theirs, ours) == (
        "not saved: c [5]; not in the model: d.e []; a.kernel is [2, 4], not [2, 3]"
    )
    many = {f"x{number}": np.ones(number) for number in range(9)}
    assert difference(many, {}) == "not in the model: x0 [0], x1 [1], x2 [2] and 6 more"
