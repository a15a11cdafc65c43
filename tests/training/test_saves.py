"""Saves: the training goes on meanwhile, an error is not lost, a signal is noticed everywhere."""

import signal
import threading
from typing import Any

import pytest

from attnjax.data.batch_plan import BatchPlan
from attnjax.errors import Interrupted
from attnjax.lab.checkpoints.checkpoint import Checkpoints
from attnjax.lab.log import metrics_log
from attnjax.lab.loop import loop
from attnjax.lab.loop.run_state import RunGroup
from tests.training.looping import PER_EPOCH, go, same

pytestmark = pytest.mark.usefixtures("compiled_once")


def test_training_goes_on_while_a_checkpoint_is_written(tmp_path, monkeypatch):
    save, batch = Checkpoints.save, BatchPlan.batch
    further, waited = threading.Event(), []

    def patient(checkpoints: Checkpoints, snapshot: Any) -> None:
        if snapshot.step == PER_EPOCH:
            waited.append(further.wait(timeout=60))
        save(checkpoints, snapshot)

    def told(plan: BatchPlan, step: int, seed: int) -> Any:
        if step == PER_EPOCH + 3:
            further.set()
        return batch(plan, step, seed)

    whole = go(tmp_path / "whole", 0, average=2)
    monkeypatch.setattr(Checkpoints, "save", patient)
    monkeypatch.setattr(BatchPlan, "batch", told)
    slow = go(tmp_path / "slow", 0, average=2)
    assert waited == [True]
    assert same(slow[0].params, whole[0].params)


def test_the_error_of_a_save_ends_the_training_soon(tmp_path, monkeypatch):
    failed, batch, seen = threading.Event(), BatchPlan.batch, []

    def broken(checkpoints: Checkpoints, snapshot: Any) -> None:
        failed.set()
        raise RuntimeError("a bug")

    def told(plan: BatchPlan, step: int, seed: int) -> Any:
        if step > PER_EPOCH:
            assert failed.wait(timeout=60)
        seen.append(step)
        return batch(plan, step, seed)

    monkeypatch.setattr(Checkpoints, "save", broken)
    monkeypatch.setattr(BatchPlan, "batch", told)
    with pytest.raises(RuntimeError, match="a bug"):
        go(tmp_path, 0, average=2)
    assert max(seen) < 2 * PER_EPOCH, "not only when the next checkpoint is due"


@pytest.mark.parametrize(
    "epoch", [1, pytest.param(3, marks=pytest.mark.long)], ids=["first", "last"]
)
def test_a_signal_during_the_validation_is_noticed(tmp_path, monkeypatch, epoch):
    settings: dict[str, Any] = {"steps": 2 * PER_EPOCH + 2, "average": 2, "result": "best"}
    (whole,) = go(tmp_path / "whole", 0, **settings)
    validate, calls = loop.validate, []

    def interrupted(group: RunGroup, requests: Any) -> Any:
        calls.append(group.step)
        if len(calls) == epoch:
            signal.raise_signal(signal.SIGTERM)
        return validate(group, requests)

    monkeypatch.setattr(loop, "validate", interrupted)
    step = min(epoch * PER_EPOCH, settings["steps"])
    with pytest.raises(Interrupted, match=f"is saved at step {step}"):
        go(tmp_path / "cut", 0, **settings)
    (resumed,) = go(tmp_path / "cut", 0, **settings)
    assert calls.count(step) == 2, "it is begun again"
    assert same(resumed.params, whole.params)
    assert (resumed.best, resumed.stopped) == (whole.best, whole.stopped)
    rows = [
        [(row["step"], row["loss"]) for row in metrics_log.read(run) if row["split"] == "valid"]
        for run in (tmp_path / "cut/0", tmp_path / "whole/0")
    ]
    assert rows[0] == rows[1]
