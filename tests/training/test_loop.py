"""The loop: what it leaves on disk, and that whatever happens to it loses nothing."""

import errno
import io
import json
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest

from attnjax.data.batching import BatchPlan
from attnjax.errors import Interrupted, UserError
from attnjax.training import checkpoint, group, loop, metrics_log
from attnjax.training.optimizers import Schedule
from attnjax.training.settings import Training
from tests.training.looping import PER_EPOCH, go, interrupt, same

pytestmark = pytest.mark.usefixtures("compiled_once")


def steps(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in (folder / checkpoint.FOLDER).iterdir())


def test_leaves_an_averaged_result_and_one_row_a_place(tmp_path, capfd):
    shown = io.StringIO()
    steps_wanted = 2 * PER_EPOCH + 1
    (outcome,) = go(tmp_path, 0, average=2, steps=steps_wanted, shown=shown)
    assert capfd.readouterr() == ("", "")
    lines = shown.getvalue().splitlines()
    assert [line.split("  ")[1] for line in lines] == ["epoch 1", "epoch 2", "epoch 3"]

    folder = tmp_path / "0"
    assert steps(folder) == [2 * PER_EPOCH, steps_wanted]
    saved = []
    for step in steps(folder):
        read = ocp.StandardCheckpointer().restore(folder / checkpoint.FOLDER / f"{step}/params")
        saved.append(read)
    mean = jax.tree.map(lambda a, b: (a + b) / 2, *saved)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), outcome.params, mean)
    assert not same(saved[0], saved[1])
    assert same(checkpoint.average(folder, last=2), outcome.params)
    # a training may be writing its next one meanwhile
    unfinished = folder / checkpoint.FOLDER / f"{steps_wanted + 1}.orbax-checkpoint-tmp"
    unfinished.mkdir()
    assert same(checkpoint.average(folder, last=2), outcome.params)
    unfinished.rmdir()

    rows = [json.loads(line) for line in (folder / metrics_log.FILE).read_text().splitlines()]
    assert [row["step"] for row in rows if row["split"] == "valid"] == [
        PER_EPOCH,
        2 * PER_EPOCH,
        steps_wanted,
    ]
    assert outcome.best == min(row["loss"] for row in rows if row["split"] == "valid")
    assert (outcome.step, outcome.stopped) == (steps_wanted, "steps")
    assert outcome.epochs == pytest.approx(steps_wanted / PER_EPOCH)
    last = rows[-2]
    assert set(last) == {
        *("step", "epoch", "split", "loss", "nll", "accuracy", "gradient_norm"),
        *("tokens_per_second", "seconds", "learning_rate"),
    }
    assert list(folder.glob("events.out.tfevents.*"))


@pytest.mark.parametrize("when", [PER_EPOCH + 2, 2 * PER_EPOCH], ids=["within", "at the end"])
def test_ctrl_c_loses_nothing(tmp_path, monkeypatch, when):
    whole = go(tmp_path / "whole", 0, 1, average=3)
    interrupt(monkeypatch, when)
    with pytest.raises(Interrupted, match=f"step {when}"):
        go(tmp_path / "cut", 0, 1, average=3)
    folder = tmp_path / "cut/1"
    assert steps(folder)[-1] == when
    # what was not yet saved when the machine went down is written again
    with (folder / metrics_log.FILE).open("a") as file:
        file.write(json.dumps({"step": when + 1, "split": "train"}) + '\n{"step": 9')
    resumed = go(tmp_path / "cut", 0, 1, average=3)
    for ours, theirs in zip(resumed, whole, strict=True):
        assert same(ours.params, theirs.params)
        assert (ours.step, ours.best, ours.epochs) == (theirs.step, theirs.best, theirs.epochs)
    assert steps(folder) == steps(tmp_path / "whole/1")
    ours, theirs = metrics_log.read(folder), metrics_log.read(tmp_path / "whole/1")
    assert [(row["step"], row["split"]) for row in ours] == [
        (row["step"], row["split"]) for row in theirs
    ]
    assert [row["loss"] for row in ours if row["split"] == "valid"] == [
        row["loss"] for row in theirs if row["split"] == "valid"
    ]
    # a finished run is not trained again
    monkeypatch.setattr(group, "train_step", None)
    assert same(go(tmp_path / "cut", 0, 1, average=3)[1].params, whole[1].params)


@dataclass(frozen=True, kw_only=True)
class Bursting(Schedule):
    last: int = PER_EPOCH + 1

    def rate(self, step: Any) -> jax.Array:
        return jnp.where(jnp.asarray(step) > self.last, jnp.inf, 1e-2)


def test_a_long_epoch_is_saved_within(tmp_path, monkeypatch):
    (whole,) = go(tmp_path / "whole", 0)
    monkeypatch.setattr(group, "SECONDS_WITHIN_AN_EPOCH", 0)
    batch = BatchPlan.batch

    def killed(plan: BatchPlan, step: int, seed: int) -> Any:
        if step == PER_EPOCH + 3:
            raise RuntimeError("killed")
        return batch(plan, step, seed)

    with monkeypatch.context() as patched:
        patched.setattr(BatchPlan, "batch", killed)
        with pytest.raises(RuntimeError, match="killed"):
            go(tmp_path / "cut", 0)
    assert steps(tmp_path / "cut/0")[-1] > PER_EPOCH
    (resumed,) = go(tmp_path / "cut", 0)
    assert same(resumed.params, whole.params)
    rows = [
        [row["step"] for row in metrics_log.read(tmp_path / name / "0")]
        for name in ("cut", "whole")
    ]
    assert rows[0] == rows[1]


def test_ctrl_c_after_the_last_step_is_not_lost(tmp_path, monkeypatch):
    outcome = loop._outcome

    def press(*given: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return outcome(*given)

    with monkeypatch.context() as patched:
        patched.setattr(loop, "_outcome", press)
        with pytest.raises(Interrupted, match="is trained"):
            go(tmp_path, 0, steps=2)
    assert go(tmp_path, 0, steps=2)[0].step == 2


def test_what_a_training_has_deleted_meanwhile_is_no_broken_checkpoint(tmp_path, monkeypatch):
    go(tmp_path, 0, steps=2)
    monkeypatch.setattr(checkpoint, "_digest", lambda folder: shutil.rmtree(folder))
    with pytest.raises(UserError, match=r"is being trained, and the checkpoint of step 2 .* again"):
        checkpoint.average(tmp_path / "0", last=1)


def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_step(tmp_path):
    # update PER_EPOCH + 2 spoils the parameters, so the step after it has no loss
    with pytest.raises(UserError, match=rf"{tmp_path}/0: the loss of step {PER_EPOCH + 3} is nan"):
        go(tmp_path, 0, 1, average=2, schedule=Bursting())
    assert steps(tmp_path / "0") == [PER_EPOCH]
    assert all(
        np.isfinite(x).all() for x in jax.tree.leaves(checkpoint.average(tmp_path / "0", last=1))
    )


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_a_broken_checkpoint_is_named_and_the_one_before_goes_on(tmp_path, capfd):
    whole = go(tmp_path, 0, average=2)
    folder = tmp_path / "0" / checkpoint.FOLDER
    before, last = steps(tmp_path / "0")
    shutil.copytree(folder / str(last), tmp_path / "good")
    files = [path for path in (folder / f"{last}/params").rglob("*") if path.is_file()]
    largest = max(files, key=lambda path: path.stat().st_size)
    for harm in (flip_a_bit, cut_in_half, Path.unlink):
        harm(largest)
        with pytest.raises(UserError, match=f"delete {folder}/{last} to go on from step {before}"):
            go(tmp_path, 0, average=2)
        shutil.rmtree(folder / str(last))
        shutil.copytree(tmp_path / "good", folder / str(last))
    shutil.rmtree(folder / str(last))
    assert same(go(tmp_path, 0, average=2)[0].params, whole[0].params)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("noticed", ["before", "while"])
def test_a_full_disk_is_said_and_leaves_the_checkpoint_before(tmp_path, monkeypatch, noticed):
    save = ocp.CheckpointManager.save

    def full(manager: Any, step: int, **arguments: Any) -> Any:
        if step == PER_EPOCH:
            return save(manager, step, **arguments)
        assert noticed == "while"
        raise OSError(errno.ENOSPC, "No space left on device")

    def usage(folder: Path) -> Any:
        return SimpleNamespace(free=0 if noticed == "before" and steps(folder.parent) else 2**40)

    monkeypatch.setattr(ocp.CheckpointManager, "save", full)
    monkeypatch.setattr(shutil, "disk_usage", usage)
    with pytest.raises(UserError, match=rf"the disk of {tmp_path}/0\S* is full"):
        go(tmp_path, 0, average=2)
    assert steps(tmp_path / "0") == [PER_EPOCH]


def test_says_what_is_missing(tmp_path):
    with pytest.raises(UserError, match=r"training\.steps must be at least 1, got 0"):
        Training(steps=0)
    with pytest.raises(UserError, match="is not the folder of a trained run"):
        checkpoint.average(tmp_path, last=1)
