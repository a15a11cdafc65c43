"""A variant that fails is recorded, does not stop the others, and is tried again."""

import errno
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from attnjax.errors import MachineError, UserError
from attnjax.lab.cli.main import main
from attnjax.lab.loop import loop
from attnjax.lab.runs import failures
from attnjax.lab.runs.failures import SweepFailures
from attnjax.lab.sweeps import division, sweep

TINY = str(Path(__file__).parents[1] / "tiny.py")
TRAIN = loop.train


def broken(error: Exception, variant: str):
    """A training that raises an error for one variant."""

    def train(*arguments, title: str, **named):
        if title.startswith(variant):
            raise error
        return TRAIN(*arguments, title=title, **named)

    return train


@pytest.fixture
def words(tmp_path) -> list[str]:
    return ["run", TINY, "--runs", str(tmp_path), "--seeds", "1", "--training.steps", "1"]


def test_the_others_go_on_and_the_next_call_tries_again(words, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "tiny"
    error = RuntimeError("a bug in a score\nand its details")
    monkeypatch.setattr(loop, "train", broken(error, "scaled"))
    assert main(words) == 2
    said = capsys.readouterr()
    assert "scaled/seed-0 failed: RuntimeError: a bug in a score\n" in said.err
    assert said.err.endswith(
        "attnjax: failed: scaled/seed-0; failed.json in their folders says why, and the same "
        "command tries them again\n"
    )
    assert "cosine" in said.out
    assert (folder / "cosine" / "seed-0" / "result.json").exists()
    assert not (folder / "scaled" / "seed-0" / "result.json").exists()
    record = json.loads((folder / "scaled" / "seed-0" / "failed.json").read_text())
    assert record["reason"] == failures.reason(folder / "scaled")
    assert record["reason"] == "RuntimeError: a bug in a score"
    assert "and its details" in record["traceback"]
    summary = json.loads((folder / "summary.json").read_text())
    (left_out,) = summary["left_out"]
    assert left_out["text"] == "It learns."
    assert left_out["reason"] == f"scaled failed: {record['reason']}"

    monkeypatch.setattr(loop, "train", TRAIN)
    assert main(words) == 0
    assert (folder / "scaled" / "seed-0" / "result.json").exists()
    assert failures.reason(folder / "scaled") is None


def test_the_only_variant_raises_its_own_error(words, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "train", broken(RuntimeError("a bug"), "scaled"))
    with pytest.raises(RuntimeError, match="a bug"):
        main([*words, "--variant", "scaled"])
    assert failures.reason(tmp_path / "tiny" / "scaled") == "RuntimeError: a bug"


@pytest.mark.parametrize("only", [True, False])
def test_one_mistake_is_one_line(words, monkeypatch, capsys, only):
    monkeypatch.setattr(loop, "train", broken(UserError("no such thing"), "scaled"))
    assert main([*words, "--seeds", "2", *(["--variant", "scaled"] if only else [])]) == 2
    said = capsys.readouterr().err
    assert said.count("no such thing") == 1
    if only:
        assert said == "attnjax: no such thing\n"
    else:
        assert "scaled/seed-0, scaled/seed-1 failed: no such thing\n" in said


def test_a_disk_that_is_full_after_the_training_is_named(words, tmp_path, monkeypatch, capsys):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(sweep, "finish", full)
    assert main([*words, "--variant", "scaled"]) == 2
    assert capsys.readouterr().err.endswith(
        f"\nattnjax: the disk of {tmp_path}/tiny/scaled/seed-0 is full: what was saved before is "
        "whole; make room and repeat the command to go on from there\n"
    )


def test_a_full_disk_stops_all_and_is_no_failure_of_the_variant(
    words, tmp_path, monkeypatch, capsys
):
    error = MachineError("the disk is full")
    monkeypatch.setattr(loop, "train", broken(error, "scaled"))
    assert main(words) == 2
    assert capsys.readouterr().err.endswith("attnjax: the disk is full\n")
    assert failures.reason(tmp_path / "tiny" / "scaled") is None
    assert not (tmp_path / "tiny" / "cosine").exists()


@pytest.mark.long
def test_a_group_that_needs_too_much_memory_is_halved(words, tmp_path, monkeypatch, capsys):
    trained = []

    def train(runs, *arguments, **named):
        trained.append(len(runs))
        if len(runs) > 1:
            raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.")
        return TRAIN(runs, *arguments, **named)

    monkeypatch.setattr(loop, "train", train)
    assert main([*words, "--variant", "scaled", "--seeds", "2"]) == 0
    assert trained == [2, 1, 1]
    assert "2 seeds together need more memory than there is; 1 are" in capsys.readouterr().err
    config = json.loads((tmp_path / "tiny" / "scaled" / "seed-1" / "config.json").read_text())
    assert config["together"] == ["seed-1"]


@pytest.mark.long
def test_seeds_train_together_as_far_as_they_fit(words, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(division, "free_memory", lambda: 25)
    monkeypatch.setattr(division, "seed_memory", lambda _: 10)
    trained = []

    def train(runs, *arguments, **named):
        trained.append([run.seed for run in runs])
        return TRAIN(runs, *arguments, **named)

    monkeypatch.setattr(loop, "train", train)
    assert main([*words, "--variant", "scaled", "--seeds", "3"]) == 0
    assert trained == [[0, 1], [2]]
    assert "2 of its 3 seeds are trained together" in capsys.readouterr().err


@pytest.mark.parametrize("run", ["scaled/seed-0", "scaled/tied/value=1/seed-0"])
def test_what_failed_before_the_sweep_is_tried_again(tmp_path, run):
    failures.record(tmp_path / run, RuntimeError("a bug"))
    failed = SweepFailures(tmp_path, Console(quiet=True))
    assert not failed.has(tmp_path / run)
    failures.forget(tmp_path / run)
    failures.record(tmp_path / run, RuntimeError("another"))
    assert failed.has(tmp_path / run)
    assert failed.reasons == {tmp_path / run: "RuntimeError: another"}
