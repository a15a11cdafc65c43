"""A run that diverges ends alone: the others of its group are trained to their ends."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from attnjax.errors import Diverged
from attnjax.lab.checkpoints.checkpoint import Checkpoints
from attnjax.lab.log import metrics_log
from attnjax.lab.loop.loop import train
from attnjax.lab.loop.run_state import Run, TrainResult
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant, Schedule
from attnjax.training.settings import Recipe, Training
from attnjax.training.train_setup import TrainSetup
from tests.training.looping import BATCHING, CORPUS, PER_EPOCH
from tests.training.toy import Toy

pytestmark = pytest.mark.usefixtures("compiled_once")


@dataclass(frozen=True, kw_only=True)
class Bursting(Schedule):
    """An infinite learning rate in the second epoch."""

    def rate(self, step: Any) -> jax.Array:
        return jnp.where(jnp.asarray(step) > PER_EPOCH + 1, jnp.inf, 1e-2)


def go(folder: Path, *schedules: Schedule) -> list[TrainResult]:
    recipe = Recipe(
        model=Toy(),
        objective=CrossEntropy(),
        optimizer=Adam(schedule=Constant(value=99.0), clip=1.0),
        training=Training(steps=3 * PER_EPOCH, batching=BATCHING, average=2),
    )
    runs = [
        Run(folder=folder / str(seed), seed=seed, schedule=schedule)
        for seed, schedule in enumerate(schedules)
    ]
    return train(runs, TrainSetup.of(recipe, CORPUS), console=Console(quiet=True))


@pytest.mark.long
def test_the_others_are_trained_to_their_ends(tmp_path):
    steady = Constant(value=1e-2)
    with pytest.raises(Diverged, match=f"0: the loss of step {PER_EPOCH + 3} is nan") as caught:
        go(tmp_path / "some", Bursting(), steady, steady)
    assert caught.value.errors.keys() == {tmp_path / "some" / "0"}
    results = go(tmp_path / "all", steady, steady, steady)
    for seed in (1, 2):
        folder = tmp_path / "some" / str(seed)
        ended = Checkpoints(folder, only_read=True)
        assert ended.progress(ended.steps[-1]).stopped == "steps"
        theirs = results[seed].params
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6),
            ended.average(ended.ends(2)),
            theirs,
        )
        ended.close()
    rows = metrics_log.read(tmp_path / "some" / "0")
    assert all(np.isfinite(row["loss"]) for row in rows)
    assert max(row["step"] for row in rows) == PER_EPOCH
