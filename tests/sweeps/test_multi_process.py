"""`attnjax run` in several processes: one run, one result, one writer."""

import json
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.training import joined

pytestmark = pytest.mark.long

TINY = Path(__file__).parents[1] / "tiny.py"
ALL_DEVICES = ("--training.batching.batch_size_multiple", "4")
ONE_SEED = ("--seeds", "1")
SEED = Path("tiny", "scaled", "seed-0")
RUN = ("-m", "attnjax", "run", TINY, *ALL_DEVICES, "--variant", "scaled", "--runs")


def result(runs: Path) -> dict:
    return json.loads((runs / SEED / "result.json").read_text())


def rows(runs: Path) -> list[dict]:
    return [json.loads(line) for line in (runs / SEED / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """The runs of two processes with two devices each."""
    folder = tmp_path_factory.mktemp("joined")
    started = joined.start((*RUN, folder), processes=2, devices=2)
    joined.finish(started)
    return folder


def test_two_processes_have_the_result_of_one(runs, tmp_path):
    joined.finish(joined.start((*RUN, tmp_path), processes=1, devices=4))
    ours, theirs = result(runs), result(tmp_path)
    measured, expected = ([one.pop("value") for one in x["metrics"]] for x in (ours, theirs))
    assert ours["metrics"] == theirs["metrics"]
    np.testing.assert_allclose(measured, expected, rtol=1e-5)
    assert ours["best_validation_loss"] == pytest.approx(theirs["best_validation_loss"], abs=1e-6)
    for one, other in zip(rows(runs), rows(tmp_path), strict=True):
        assert (one["step"], one["split"]) == (other["step"], other["split"])
        np.testing.assert_allclose(one["loss"], other["loss"], rtol=0, atol=1e-6)


SLOW = (*ONE_SEED, "--training.steps", "200", "--optimizer.schedule.value", "1e-4")


def signalled(runs: Path) -> None:
    """Train in two processes, and send SIGTERM to one of them in the middle."""
    started = joined.start((*RUN, runs, *SLOW), processes=2, devices=2)
    wait_for(runs / SEED / "metrics.jsonl", started)
    started[1].send_signal(signal.SIGTERM)
    said = [process.communicate(timeout=300)[1] for process in started]
    assert [process.returncode for process in started] == [75, 75], "\n\n".join(said)
    assert all("is saved at step" in each for each in said), said
    assert not (runs / SEED / "result.json").exists()


def test_a_signal_to_one_ends_both(tmp_path, record_property):
    signalled(tmp_path)
    record_property("shown", "SIGTERM to one of two processes: both saved and ended with 75")


def test_after_a_signal_another_machine_goes_on(tmp_path, record_property):
    """The run goes on in one process, on more devices, under pmap; it ends as if nothing was."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    signalled(cut)
    other = ("--training.parallel", "pmap")
    joined.finish(joined.start((*RUN, cut, *SLOW, *other), processes=1, devices=4))
    joined.finish(joined.start((*RUN, whole, *SLOW), processes=1, devices=1))
    for one, theirs in zip(rows(cut), rows(whole), strict=True):
        assert (one["step"], one["split"]) == (theirs["step"], theirs["split"])
        if one["split"] == "valid":  # a training row holds means since the interruption
            np.testing.assert_allclose(one["loss"], theirs["loss"], rtol=1e-4)
    record_property("shown", "SIGTERM to one of two processes: one process of four devices went on")


def wait_for(path: Path, started: Sequence[subprocess.Popen[str]]) -> None:
    """Wait until a file has content."""
    while not path.exists() or not path.stat().st_size:
        assert all(process.poll() is None for process in started)
        time.sleep(0.02)


def test_an_error_of_one_process_ends_the_others(tmp_path):
    one_row = ("--training.batching.batch_size_multiple", "1")
    words = ("run", TINY, *one_row, "--variant", "scaled", "--runs", tmp_path)
    started = joined.start(("-m", "attnjax", *words), processes=2, devices=1)
    said = [process.communicate(timeout=300)[1] for process in started]
    codes = [process.returncode for process in started]
    assert codes[0] == 2
    assert codes[1] in (2, -signal.SIGABRT), said[1]
    assert said[0].splitlines()[-1] == (
        "attnjax: batching.batch_size_multiple must be a multiple of the 2 processes, got 1: "
        "--training.batching.batch_size_multiple 2 uses all 2 devices"
    )


ONE_FAILS = """
import os, sys
from attnjax.lab.cli.main import main
from attnjax.training.devices import hosts

steps, begin = iter(range(6)), hosts.begin_to_agree

def fails_once(value):
    if os.environ["JAX_PROCESS_ID"] == "1" and next(steps, None) is None:
        raise RuntimeError("no memory is left here")
    return begin(value)

hosts.begin_to_agree = fails_once
sys.exit(main(sys.argv[1:]))
"""


def test_an_error_that_only_one_process_meets_ends_both(tmp_path):
    """They would wait for each other: one for the next training, the other for a step of this."""
    program = ("-c", ONE_FAILS, *RUN[2:], tmp_path, *SLOW)
    started = joined.start(program, processes=2, devices=2)
    said = [process.communicate(timeout=200)[1] for process in started]
    codes = [process.returncode for process in started]
    assert codes[0] in (2, -signal.SIGABRT), said[0]
    assert codes[1] == 2
    assert (
        said[1]
        .splitlines()[-1]
        .startswith("attnjax: no memory is left here: the other processes have not met this error")
    )
    assert not (tmp_path / SEED / "result.json").exists()


@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_is_killed_ends_the_other(tmp_path, victim):
    """By its own sentence, or by JAX, which aborts it, whichever comes first."""
    slow = (*SLOW, "--training.steps", "100000")
    started = joined.start((*RUN, tmp_path, *slow), processes=2, devices=2)
    wait_for(tmp_path / SEED / "metrics.jsonl", started)
    started[victim].kill()
    ended = started[1 - victim]
    said = ended.communicate(timeout=300)[1]
    if ended.returncode == 2:
        assert said.splitlines()[-1].endswith("the same command goes on from what is saved")
    else:
        assert ended.returncode == -signal.SIGABRT
        assert "another task died" in said
    started[victim].communicate()
