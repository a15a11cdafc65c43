"""Checkpoints are read on other devices, and refused by another model."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from flax import linen as nn

from attnjax.data.batching import Batching
from attnjax.errors import Interrupted, UserError
from attnjax.lab.checkpoints import corruption
from tests.training.looping import go, interrupt, same
from tests.training.toy import Toy

pytestmark = pytest.mark.usefixtures("compiled_once")

STEP = 5
SETTINGS: dict[str, Any] = {
    "steps": 10,
    "batching": Batching(max_tokens=64, shapes=1, batch_size_multiple=8),
}


class Wider(nn.Module):
    """The toy, with one more layer."""

    @nn.compact
    def features(self, source: jax.Array, given: jax.Array, *, deterministic: bool):
        hidden, table = Toy(name="toy").features(source, given, deterministic=deterministic)
        return nn.Dense(4, name="more")(hidden), table

    def __call__(self, source: jax.Array, given: jax.Array, *, deterministic: bool):
        hidden, table = self.features(source, given, deterministic=deterministic)
        return hidden @ table.T


def cut(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
    """Train, and interrupt the training."""
    with monkeypatch.context() as patched:
        interrupt(patched, STEP)
        with pytest.raises(Interrupted, match=f"step {STEP}"):
            go(folder, 0, **SETTINGS | settings)


def test_a_checkpoint_renamed_to_another_step_is_refused(tmp_path, monkeypatch):
    """Its state holds the step, also where somebody has written a digest that fits."""
    cut(tmp_path, monkeypatch)
    (saved,) = (tmp_path / "0" / "checkpoints").glob(f"{STEP}")
    renamed = saved.rename(saved.with_name("7"))
    corruption.write_digest(renamed)
    with pytest.raises(UserError, match="checkpoints/7 is the checkpoint of another step"):
        go(tmp_path, 0, **SETTINGS)


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param(("mesh", 8), ("pmap", 8), marks=pytest.mark.long),
        (("pmap", 8), ("mesh", 2)),
        pytest.param(("mesh", 1), ("mesh", 8), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_a_run_goes_on_with_another_strategy_or_device_count(
    tmp_path, monkeypatch, before, after, record_property
):
    (whole,) = go(tmp_path / "whole", 0, **SETTINGS)
    every = jax.devices()
    monkeypatch.setattr(jax, "devices", lambda: every[: before[1]])
    cut(tmp_path / "cut", monkeypatch, parallel=before[0])
    monkeypatch.setattr(jax, "devices", lambda: every[: after[1]])
    (resumed,) = go(tmp_path / "cut", 0, **SETTINGS | {"parallel": after[0]})
    for ours, theirs in zip(*map(jax.tree.leaves, (resumed.params, whole.params)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert resumed.best == pytest.approx(whole.best, rel=1e-5)
    said = " to ".join(f"{strategy} on {count}" for strategy, count in (before, after))
    record_property("shown", f"restored from {said} devices")


def test_a_checkpoint_of_another_model_is_refused_by_name(tmp_path, monkeypatch):
    cut(tmp_path, monkeypatch)
    with pytest.raises(UserError) as caught:
        go(tmp_path, 0, model=Wider(), **SETTINGS)
    assert str(caught.value) == (
        f"{tmp_path}/0/checkpoints/{STEP} is of another model: "
        "not saved: more.bias [4], more.kernel [4, 4], toy.Dense_0.bias [4] and 2 more; "
        "not in the model: Dense_0.bias [4], Dense_0.kernel [4, 4], table [11, 4]"
    )
    # nothing is lost: the right model goes on
    (whole,) = go(tmp_path / "whole", 0, **SETTINGS)
    assert same(go(tmp_path, 0, **SETTINGS)[0].params, whole.params)


def test_fewer_steps_than_are_saved_are_refused(tmp_path, monkeypatch):
    cut(tmp_path, monkeypatch)
    with pytest.raises(
        UserError, match=f"has a checkpoint of step {STEP}, and training.steps is 4"
    ):
        go(tmp_path, 0, **SETTINGS | {"steps": 4})
