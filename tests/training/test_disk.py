"""File systems that fail in mid-run: one sentence, nothing lost, and the same bits afterwards."""

import errno
import gc
import logging
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from attnjax.data.batch_plan import BatchPlan
from attnjax.errors import Interrupted, MachineError
from attnjax.lab.checkpoints import checkpoint
from attnjax.lab.checkpoints.checkpoint import Checkpoints
from attnjax.lab.checkpoints.disk import told_once, writable
from tests.training.looping import PER_EPOCH, go, interrupt, same

pytestmark = pytest.mark.usefixtures("compiled_once")

SETTINGS: dict[str, Any] = {"average": 2}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a small disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a disk; the limit on a file's size is tested anyway")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def during(monkeypatch: pytest.MonkeyPatch, step: int, harm: Callable[[], object]) -> None:
    """Do harm while the batch of this step is made."""
    batch, done = BatchPlan.batch, []

    def harmed(plan: BatchPlan, index: int, seed: int) -> Any:
        if index == step and not done:
            done.append(harm())
        return batch(plan, index, seed)

    monkeypatch.setattr(BatchPlan, "batch", harmed)


def fill(disk: Path, left: int) -> None:
    """Fill a disk up to some bytes."""
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(2**12)):
            pass
    os.truncate(disk / "filler", (disk / "filler").stat().st_size - left)


def wait_for_save(run: Path, step: int) -> None:
    """Wait until a checkpoint is complete."""
    while not (run / checkpoint.FOLDER / str(step) / "digest").exists():
        time.sleep(0.01)


# TensorBoard's writer leaves its file open, and TensorStore's threads speak to a closed loop
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_disk_that_fills_up(tmp_path, disk, monkeypatch, record_property):
    (whole,) = go(tmp_path / "whole", 0, **SETTINGS)

    def harm() -> None:
        wait_for_save(disk / "0", PER_EPOCH)
        fill(disk, 2**14)

    during(monkeypatch, 2 * PER_EPOCH - 1, harm)
    with pytest.raises(MachineError, match=rf"the disk of {disk}/0\S* is full: what was saved"):
        go(disk, 0, **SETTINGS)
    assert not [*disk.rglob("*.tmp")]
    (disk / "filler").unlink()
    (resumed,) = go(disk, 0, **SETTINGS)
    assert same(resumed.params, whole.params)
    record_property("shown", "a disk that fills up during a save: nothing lost")
    gc.collect()  # here, where its warnings are ignored, and not in some later test


def test_a_full_disk_is_found_below_the_errors_of_libraries(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")

    def fail(how: str) -> None:
        try:
            raise full
        except OSError as error:
            if how == "cause":
                raise RuntimeError("the save has failed") from error
            if how == "context":
                raise KeyError("unfinished")  # noqa: B904
            raise ExceptionGroup("saves", [ValueError("another"), error]) from None

    for how in ("cause", "context", "group"):
        with pytest.raises(MachineError, match="is full: what was saved"), writable(tmp_path):
            fail(how)
    with pytest.raises(KeyError), writable(tmp_path):
        raise KeyError("something else")


def test_an_error_of_orbax_is_told_once(monkeypatch, capsys, caplog):
    """A full disk was one sentence between hundreds of lines of tracebacks."""
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)

    def fail() -> None:
        with told_once():
            logging.getLogger("absl").error("a thread raised an exception")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert not caplog.records
    logging.getLogger("absl").error("of something else")
    assert len(caplog.records) == 1
    for words, printed in (("Event loop is closed", False), ("another", True)):
        error = RuntimeError(words)
        sys.excepthook(RuntimeError, error, None)
        assert (words in capsys.readouterr().err) == printed


@pytest.mark.long
def test_a_disk_that_is_read_only_on_repetition(tmp_path, disk, monkeypatch):
    (whole,) = go(tmp_path / "whole", 0, **SETTINGS)
    interrupt(monkeypatch, PER_EPOCH + 2)
    with pytest.raises(Interrupted):
        go(disk, 0, **SETTINGS)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        with pytest.raises(MachineError, match=r"cannot be written to \(Read-only file system\)"):
            go(disk, 0, **SETTINGS)
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    assert same(go(disk, 0, **SETTINGS)[0].params, whole.params)


@pytest.mark.long
def test_a_file_that_must_not_grow(tmp_path, monkeypatch):
    (whole,) = go(tmp_path / "whole", 0, **SETTINGS)
    save, soft_and_hard = Checkpoints.save, resource.getrlimit(resource.RLIMIT_FSIZE)

    def limited(checkpoints: Checkpoints, snapshot: Any) -> None:
        if snapshot.step == 3 * PER_EPOCH:  # the last save, which nothing runs beside
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, soft_and_hard[1]))
        try:
            save(checkpoints, snapshot)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, soft_and_hard)

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoints, "save", limited)
        with pytest.raises(MachineError, match=r"cannot be written to \(File too large\)"):
            go(tmp_path / "cut", 0, **SETTINGS)
    assert same(go(tmp_path / "cut", 0, **SETTINGS)[0].params, whole.params)


def test_a_folder_that_is_gone_in_mid_run(tmp_path, monkeypatch):
    (whole,) = go(tmp_path / "whole", 0, **SETTINGS)
    run, elsewhere = tmp_path / "cut/0", tmp_path / "elsewhere"

    def harm() -> None:
        wait_for_save(run, PER_EPOCH)
        run.rename(elsewhere)

    with monkeypatch.context() as patched:
        during(patched, 2 * PER_EPOCH - 1, harm)
        sentence = r"0\S* cannot be written to \(No such file or directory\): what was saved"
        with pytest.raises(MachineError, match=sentence):
            go(tmp_path / "cut", 0, **SETTINGS)
    assert not run.exists(), "nothing is written in another place"
    elsewhere.rename(run)
    assert same(go(tmp_path / "cut", 0, **SETTINGS)[0].params, whole.params)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_must_not_be_written_to(tmp_path):
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(MachineError, match="Permission denied"), writable(tmp_path):
            raise ValueError("a library's own words")
    finally:
        tmp_path.chmod(0o755)


def test_other_errors_pass_through(tmp_path):
    with pytest.raises(ValueError, match="a bug") as caught, writable(tmp_path):
        raise ValueError("a bug")
    assert not isinstance(caught.value, MachineError)
    assert not list(tmp_path.iterdir())
