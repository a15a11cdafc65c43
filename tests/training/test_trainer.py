"""The loop: what it leaves on disk, and that whatever happens to it loses nothing."""

import errno
import io
import itertools
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

from attnjax.data.batch_plan import BatchPlan
from attnjax.errors import Interrupted, UserError
from attnjax.lab.checkpoints import checkpoint, corruption
from attnjax.lab.log import console, metrics_log
from attnjax.lab.loop import run_state, saving as saves
from attnjax.lab.loop.run_state import RunState
from attnjax.training.schedules import Schedule
from tests.training.looping import PER_EPOCH, go, interrupt, same

pytestmark = pytest.mark.usefixtures("compiled_once")


def steps(folder: Path) -> list[int]:
    names = (path.name for path in (folder / checkpoint.FOLDER).iterdir())
    return sorted(int(name) for name in names if name.isdigit())


def test_leaves_an_averaged_result_and_one_row_a_place(tmp_path, capfd):
    shown = io.StringIO()
    steps_wanted = 2 * PER_EPOCH + 1
    (outcome,) = go(tmp_path, 0, average=2, steps=steps_wanted, shown=shown)
    assert capfd.readouterr() == ("", "")
    idle, *lines = shown.getvalue().splitlines()
    assert idle == (
        "0: trains on 1 of 8 devices, because batching.batch_size_multiple is no multiple of 8: "
        "--training.batching.batch_size_multiple 8 uses them all"
    )
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
    assert same(checkpoint.average(folder, 2), outcome.params)
    # a training may be writing its next one meanwhile
    unfinished = folder / checkpoint.FOLDER / f"{steps_wanted + 1}.orbax-checkpoint-tmp"
    unfinished.mkdir()
    assert same(checkpoint.average(folder, 2), outcome.params)
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
        *("tokens_per_second", "seconds", "learning_rate", "host_memory"),
        *("padding", "waiting_for_data"),
    }
    assert list(folder.glob("events.out.tfevents.*"))


@pytest.mark.parametrize(
    "when",
    [PER_EPOCH + 2, pytest.param(2 * PER_EPOCH, marks=pytest.mark.long)],
    ids=["within", "at the end"],
)
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
    monkeypatch.setattr(run_state, "train_step", None)
    assert same(go(tmp_path / "cut", 0, 1, average=3)[1].params, whole[1].params)


@dataclass(frozen=True, kw_only=True)
class Bursting(Schedule):
    last: int = PER_EPOCH + 1

    def rate(self, step: Any) -> jax.Array:
        return jnp.where(jnp.asarray(step) > self.last, jnp.inf, 1e-2)


@pytest.mark.long
def test_a_long_epoch_is_saved_within(tmp_path, monkeypatch):
    (whole,) = go(tmp_path / "whole", 0)
    monkeypatch.setattr(saves, "SECONDS_WITHIN_AN_EPOCH", 0)
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
    result = RunState.result

    def press(*given: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return result(*given)

    with monkeypatch.context() as patched:
        patched.setattr(RunState, "result", press)
        with pytest.raises(Interrupted, match="is trained"):
            go(tmp_path, 0, steps=2)
    assert go(tmp_path, 0, steps=2)[0].step == 2


def test_what_a_training_has_deleted_meanwhile_is_no_broken_checkpoint(tmp_path, monkeypatch):
    go(tmp_path, 0, steps=2)

    def pruned(folder: Path) -> str:
        shutil.rmtree(folder)
        raise FileNotFoundError(folder)

    monkeypatch.setattr(corruption, "_digest", pruned)
    with pytest.raises(UserError, match=r"is being trained, and the checkpoint of step 2 .* again"):
        checkpoint.average(tmp_path / "0", 1)


@pytest.mark.long
def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_step(tmp_path):
    # update PER_EPOCH + 2 spoils the parameters, so the step after it has no loss
    with pytest.raises(UserError, match=rf"{tmp_path}/0: the loss of step {PER_EPOCH + 3} is nan"):
        go(tmp_path, 0, 1, average=2, schedule=Bursting())
    assert steps(tmp_path / "0") == [PER_EPOCH]
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(checkpoint.average(tmp_path / "0", 1)))


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_a_corrupt_checkpoint_is_kept_aside_and_the_one_before_goes_on(tmp_path, capfd):
    whole = go(tmp_path, 0, average=2)
    folder = tmp_path / "0" / checkpoint.FOLDER
    before, last = steps(tmp_path / "0")
    shutil.copytree(folder, tmp_path / "good")
    for harm in (flip_a_bit, cut_in_half, Path.unlink):
        files = [path for path in (folder / f"{last}/params").rglob("*") if path.is_file()]
        harm(max(files, key=lambda path: path.stat().st_size))
        # who only reads says so, and changes nothing
        with pytest.raises(UserError, match=rf"{folder}/{last} is corrupt.* step {before} is th"):
            checkpoint.average(tmp_path / "0", 2)
        capfd.readouterr()
        assert same(go(tmp_path, 0, average=2)[0].params, whole[0].params)
        said = capfd.readouterr().err
        assert f"{folder}/{last} is corrupt" in said
        assert f"kept aside as {last}.corrupt, and training goes on from step {before}" in said
        assert said.count("\n") == 1
        assert (folder / f"{last}.corrupt").is_dir()
        assert steps(tmp_path / "0") == [before, last]


def test_a_save_without_a_digest_was_cut_off(tmp_path, capfd):
    (whole,) = go(tmp_path, 0)
    (last,) = steps(tmp_path / "0")
    (tmp_path / "0" / checkpoint.FOLDER / f"{last}/digest").unlink()
    assert same(go(tmp_path, 0)[0].params, whole.params)
    said = capfd.readouterr().err
    assert "its save was cut off; it is kept aside as" in said
    assert "training begins again" in said


def test_what_is_no_corruption_passes_through(tmp_path, monkeypatch):
    go(tmp_path, 0, steps=2)

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(ocp.Checkpointer, "restore", refuse)
    with pytest.raises(RuntimeError, match="no memory") as caught:
        checkpoint.average(tmp_path / "0", 1)
    assert "checkpoints/2, whose files are not damaged" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param("cut", marks=pytest.mark.long),
        "digit",
        pytest.param("binary", marks=pytest.mark.long),
        pytest.param("missing", marks=pytest.mark.long),
    ],
)
def test_lost_rows_of_metrics_are_named_and_the_training_goes_on(
    tmp_path, monkeypatch, capfd, harm
):
    (whole,) = go(tmp_path / "whole", 0)
    interrupt(monkeypatch, 2 * PER_EPOCH + 1)
    with pytest.raises(Interrupted):
        go(tmp_path / "cut", 0)
    path = tmp_path / "cut/0" / metrics_log.FILE
    content = path.read_bytes()
    damaged = {
        "cut": content[: len(content) // 2],
        "digit": content.replace(b'"loss": 2', b'"loss": 3', 1),
        "binary": b"\xff\x00" + content,
        "missing": None,
    }[harm]
    assert damaged != content
    path.unlink() if damaged is None else path.write_bytes(damaged)
    capfd.readouterr()
    assert same(go(tmp_path / "cut", 0)[0].params, whole.params)
    said = capfd.readouterr().err
    assert f"{path} is not as it was at step {2 * PER_EPOCH + 1}" in said
    assert ("metrics.jsonl.corrupt" in said) == (damaged is not None)
    if damaged is not None:
        assert path.with_suffix(".jsonl.corrupt").read_bytes() == damaged
    assert metrics_log.read(path.parent)[-1] == metrics_log.read(tmp_path / "whole/0")[-1] | {
        "seconds": metrics_log.read(path.parent)[-1]["seconds"]
    }


@pytest.mark.parametrize("average", [pytest.param(1, marks=pytest.mark.long), 3])
def test_a_lengthened_training_equals_the_longer_one(tmp_path, average):
    # the first ends within an epoch, whose validation must not count in the second
    short, long = PER_EPOCH + 2, 2 * PER_EPOCH + 1
    settings: dict[str, Any] = {"average": average, "patience": 2}
    (whole,) = go(tmp_path / "whole", 0, steps=long, **settings)
    (first,) = go(tmp_path / "grown", 0, steps=short, **settings)
    assert (first.step, first.stopped) == (short, "steps")
    (grown,) = go(tmp_path / "grown", 0, steps=long, **settings)
    assert same(grown.params, whole.params)
    assert (grown.step, grown.best, grown.stopped) == (long, whole.best, "steps")


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGUSR1, marks=pytest.mark.long)]
)
def test_a_batch_system_s_signal_saves_like_ctrl_c(tmp_path, monkeypatch, number):
    (whole,) = go(tmp_path / "whole", 0)
    before = signal.getsignal(number)
    interrupt(monkeypatch, PER_EPOCH + 2, number)
    with pytest.raises(Interrupted, match=f"step {PER_EPOCH + 2}") as caught:
        go(tmp_path / "cut", 0)
    assert caught.value.signal == number
    assert same(go(tmp_path / "cut", 0)[0].params, whole.params)
    assert signal.getsignal(number) == before


def test_a_log_gets_a_line_a_minute(tmp_path, monkeypatch):
    clock = itertools.count(step=45)
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    shown = io.StringIO()
    go(tmp_path, 0, steps=PER_EPOCH, shown=shown)
    lines = [
        line for line in shown.getvalue().splitlines() if "loss" in line and "epoch" not in line
    ]
    *lines, _ = lines  # of the last step nothing is left
    assert lines
    for line in lines:
        title, step, loss, left = line.split("  ")
        assert title == "0"
        assert step.endswith(f"of {PER_EPOCH}")
        assert loss.startswith("loss ")
        assert left.endswith("left")


def test_a_full_disk_is_said_and_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    save = ocp.Checkpointer.save

    def full(checkpointer: Any, folder: Path, **arguments: Any) -> Any:
        if folder.name == str(PER_EPOCH):
            return save(checkpointer, folder, **arguments)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ocp.Checkpointer, "save", full)
    with pytest.raises(UserError, match=rf"the disk of {tmp_path}/0\S* is full"):
        go(tmp_path, 0, average=2)
    assert steps(tmp_path / "0") == [PER_EPOCH]


def test_says_what_is_missing(tmp_path):
    with pytest.raises(UserError, match="is not the folder of a trained run"):
        checkpoint.average(tmp_path, 1)


def test_a_killed_deletion_leaves_no_half_of_a_checkpoint(tmp_path, monkeypatch, capfd):
    (whole,) = go(tmp_path / "whole", 0, average=2)
    remove = shutil.rmtree

    def killed(folder: Path, **options: Any) -> None:
        if folder.parent.name != checkpoint.FOLDER:
            return remove(folder, **options)
        largest = max((path for path in folder.rglob("*")), key=lambda path: path.stat().st_size)
        remove(largest) if largest.is_dir() else largest.unlink()
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", killed)
        with pytest.raises(RuntimeError, match="killed"):
            go(tmp_path / "cut", 0, average=2)
    (resumed,) = go(tmp_path / "cut", 0, average=2)
    assert same(resumed.params, whole.params)
    assert steps(tmp_path / "cut/0") == steps(tmp_path / "whole/0")
    assert not list((tmp_path / "cut/0" / checkpoint.FOLDER).glob("*.deleted"))
    assert "corrupt" not in capfd.readouterr().err
