"""A checkpoint is saved and read below a folder of any name."""

from contextlib import closing

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.lab.checkpoints.checkpoint import Checkpoints, average_of
from attnjax.lab.checkpoints.snapshot import RunProgress, Snapshot
from attnjax.training.optimizers import Adam
from attnjax.training.step import State


@pytest.mark.parametrize("name", ["plain", "runs [b] %d", "a*b?#1"])
def test_a_checkpoint_below_a_folder_whose_name_is_a_pattern(tmp_path, name):
    params = {"kernel": jnp.arange(6.0).reshape(2, 3)}
    state = State(jnp.int32(3), params, Adam().make().init(params), {}, jax.random.key(0))
    with closing(Checkpoints(tmp_path / name)) as checkpoints:
        checkpoints.save(Snapshot.of(state, RunProgress(epoch_end=True)))
        restored = checkpoints.restore(3, jax.eval_shape(lambda: state))
    np.testing.assert_array_equal(restored.params["kernel"], params["kernel"])
    np.testing.assert_array_equal(average_of(tmp_path / name, [3])["kernel"], params["kernel"])
    assert [path.name for path in (tmp_path / name / "checkpoints").iterdir()] == ["3"]
