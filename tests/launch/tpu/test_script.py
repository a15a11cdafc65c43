"""The script of a slice's machines: run by bash, with stand-ins for what a machine has."""

import os
import subprocess
from pathlib import Path

import pytest

from launch.tpu.script import start_script
from launch.tpu.site import TpuSite

SITE = TpuSite(
    project="my-project",
    zone="us-west4-a",
    bucket="gs://bucket/here",
    data="gs://bucket/corpora",
    time="02:00:00",
    lines=("echo ready > ready",),
)
DELETE = [
    *("gcloud", "compute", "tpus", "queued-resources", "delete", "attnjax-tiny"),
    *("--project=my-project", "--zone=us-west4-a", "--force", "--quiet"),
]
WORDS = ("shipped/tiny.py", "--runs", "runs", "--variant", "it's")
RUNS = ("gcloud", "storage", "rsync", "--recursive")
UP, DOWN = ("runs/tiny", "gs://bucket/here/runs/tiny"), ("gs://bucket/here/runs/tiny", "runs/tiny")


@pytest.fixture
def machine(recorder, tmp_path):
    """Starts a machine of a slice of two; returns its folder."""
    recorder.stand_in("curl", "gcloud", "systemd-run", "python3", "tar")
    home = tmp_path / "home"

    def start(worker: int, code: int = 0) -> Path:
        metadata = "http://metadata.google.internal/computeMetadata/v1/instance/attributes/"
        ask = ("curl", "--silent", "--fail", "--header", "Metadata-Flavor:Google")
        machines = "unknown:unknown:10.0.0.7,unknown:unknown:10.0.0.8"
        recorder.answer(*ask, f"{metadata}worker-network-endpoints", out=machines)
        recorder.answer(*ask, f"{metadata}agent-worker-number", out=str(worker))
        python = home / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        (home / "changes.patch").write_text("commit 1\n")
        program = f'env | grep ^JAX_ > environment; echo "$@" > words; echo out; exit {code}\n'
        python.write_text(f'#!/bin/bash\n[ "$3" = report ] && exit 0\n{program}')
        python.chmod(0o755)
        script = tmp_path / "start.sh"
        text = start_script(SITE, "attnjax-tiny", "tiny", WORDS)
        script.write_text(text.replace("/opt/attnjax", str(home)))
        environment = {
            key: value for key, value in os.environ.items() if "JAX" not in key and key != "HOME"
        }
        subprocess.run(["bash", str(script)], env=environment, stdin=subprocess.DEVNULL, timeout=60)
        return home

    return start


def test_the_timer_that_deletes_the_slice_comes_first(machine, recorder):
    machine(worker=1)
    assert recorder.calls[0].words == ["systemd-run", "--on-active=7200", *DELETE]


def test_each_machine_knows_the_others(machine):
    home = machine(worker=1)
    assert sorted((home / "environment").read_text().split()) == [
        "JAX_COORDINATOR_ADDRESS=10.0.0.7:8476",
        "JAX_NUM_PROCESSES=2",
        "JAX_PROCESS_ID=1",
    ]
    assert (home / "words").read_text() == f"-m attnjax run {' '.join(WORDS)}\n"
    assert (home / "ready").exists(), "the site's own lines come before the command"


def calls(recorder) -> list[tuple[str, ...]]:
    return [tuple(call.words) for call in recorder.calls]


def test_the_first_machine_goes_on_with_the_runs_and_saves_them(machine, recorder):
    home = machine(worker=0)
    made = calls(recorder)
    assert made.index((*RUNS, *DOWN)) < made.index((*RUNS, *UP))
    assert (*RUNS, "gs://bucket/corpora", "data") in made
    assert (home / "runs" / "tiny" / "tpu.log").read_text() == "out\n"
    assert (home / "runs" / "tiny" / "changes.patch").exists()


@pytest.mark.parametrize("code", [0, 2])
def test_a_slice_that_is_done_says_how_and_deletes_itself(machine, recorder, code):
    machine(worker=0, code=code)
    *_, told, deleted = recorder.calls
    assert told.words == [
        *("gcloud", "storage", "cp", "-", "gs://bucket/here/slices/attnjax-tiny/exit-code")
    ]
    assert told.text == f"{code}\n"
    assert deleted.words == DELETE


def test_a_slice_that_is_taken_away_saves_and_stays(machine, recorder):
    machine(worker=0, code=75)
    assert recorder.calls[-1].words == [*RUNS, *UP]
    assert [*DELETE] not in [call.words for call in recorder.calls]


def test_the_other_machines_neither_save_nor_delete(machine, recorder):
    machine(worker=1, code=0)
    made = calls(recorder)
    assert tuple(DELETE) not in made
    assert not {(*RUNS, *UP), (*RUNS, *DOWN)} & set(made)


def test_a_machine_without_code_trains_nothing(machine, recorder):
    recorder.answer("gcloud", "storage", "cp", code=1)
    home = machine(worker=0)
    assert not (home / "words").exists()
