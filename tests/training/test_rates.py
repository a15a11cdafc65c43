"""Runs that are trained together at learning rates of their own."""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from rich.console import Console

from attnjax.errors import Interrupted
from attnjax.lab.log import metrics_log
from attnjax.lab.loop.loop import train
from attnjax.lab.loop.run_state import Run, TrainResult
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant, InverseSquareRoot, Schedule
from attnjax.training.settings import Recipe, Training
from attnjax.training.train_setup import TrainSetup
from tests.training.looping import BATCHING, CORPUS, PER_EPOCH, go, interrupt, same
from tests.training.toy import Toy

pytestmark = pytest.mark.usefixtures("compiled_once")

RATES = (Constant(value=1e-3), InverseSquareRoot(peak=0.05, warmup=4))


def go_at(folder: Path, *schedules: Schedule, **settings: Any) -> list[TrainResult]:
    """Return a run of seed 7 for each schedule, together."""
    recipe = Recipe(
        model=Toy(),
        objective=CrossEntropy(),
        optimizer=Adam(schedule=Constant(value=99.0), clip=1.0),
        training=Training(**{"steps": 2 * PER_EPOCH + 1, "batching": BATCHING} | settings),
    )
    runs = [
        Run(folder=folder / str(number), seed=7, schedule=schedule, may_diverge=True)
        for number, schedule in enumerate(schedules)
    ]
    return train(runs, TrainSetup.of(recipe, CORPUS), console=Console(quiet=True))


def near(ours: Any, theirs: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), ours, theirs)


@pytest.mark.long
@pytest.mark.parametrize("parallel", ["mesh", "pmap"])
def test_a_rate_of_its_own_is_as_if_the_optimizer_had_it(tmp_path, parallel):
    together = go_at(tmp_path / "together", *RATES, parallel=parallel)
    for number, (schedule, ours) in enumerate(zip(RATES, together, strict=True)):
        (theirs,) = go(tmp_path / str(number), 7, schedule=schedule, steps=2 * PER_EPOCH + 1)
        near(ours.params, theirs.params)
        assert ours.best == pytest.approx(theirs.best, rel=1e-5)
        logged = [
            [row["learning_rate"] for row in metrics_log.read(folder) if row["split"] == "train"]
            for folder in (tmp_path / "together" / str(number), tmp_path / str(number) / "7")
        ]
        assert logged[0] == logged[1]
    (alone,) = go_at(tmp_path / "alone", RATES[1], parallel=parallel)
    near(alone.params, together[1].params)


def test_resumed_equals_uninterrupted(tmp_path, monkeypatch):
    whole = go_at(tmp_path / "whole", *RATES)
    interrupt(monkeypatch, PER_EPOCH + 2)
    with pytest.raises(Interrupted):
        go_at(tmp_path / "cut", *RATES)
    resumed = go_at(tmp_path / "cut", *RATES)
    for ours, theirs in zip(resumed, whole, strict=True):
        assert same(ours.params, theirs.params)
        assert ours.best == theirs.best


@pytest.mark.long
def test_a_save_that_was_cut_off_between_two_rates_is_dropped(tmp_path, monkeypatch):
    """They have one seed, so that it is their folders that tell them apart."""
    from attnjax.lab.checkpoints.checkpoint import Checkpoints

    whole = go_at(tmp_path / "whole", *RATES, average=2)
    save = Checkpoints.save

    def killed(self: Checkpoints, snapshot: Any) -> None:
        if snapshot.step > PER_EPOCH and self.folder.parent.name == "1":
            raise RuntimeError("killed")
        save(self, snapshot)

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoints, "save", killed)
        with pytest.raises(RuntimeError, match="killed"):
            go_at(tmp_path / "cut", *RATES, average=2)
    resumed = go_at(tmp_path / "cut", *RATES, average=2)
    assert all(same(a.params, b.params) for a, b in zip(resumed, whole, strict=True))


def test_a_run_that_may_diverge_has_an_infinite_loss_and_spoils_no_other(tmp_path):
    calm, wild = go_at(tmp_path / "both", RATES[0], Constant(value=1e38))
    near(calm.params, go_at(tmp_path / "calm", RATES[0], Constant(value=1e-2))[0].params)
    assert np.isfinite(calm.best)
    assert wild.best == np.inf
    again = go_at(tmp_path / "both", RATES[0], Constant(value=1e38))
    assert [one.best for one in again] == [calm.best, wild.best]
    rows = (tmp_path / "both" / "0" / metrics_log.FILE).read_text().splitlines()
    assert all(np.isfinite(json.loads(row)["loss"]) for row in rows)
