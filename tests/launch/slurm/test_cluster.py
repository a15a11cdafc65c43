"""A real SLURM: an array of runs of two processes, two of them ended before they are done."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from attnjax.lab.log.metrics_log import FILE as METRICS, read
from attnjax.lab.runs.run_folder import RESULT
from launch.slurm import __main__ as slurm, queue
from tests.launch.slurm.cluster import cluster, installed, said, spare_ports

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not installed(), reason="needs SLURM and munge: see make test-slurm"),
]

TINY = str(Path(__file__).parents[2] / "tiny.py")
RUNS = [f"{variant}/seed-{seed}" for variant in ("scaled", "cosine") for seed in (0, 1)]
STEPS = 300
OVERRIDES = (
    *("--training.steps", str(STEPS)),
    *("--training.batching.batch_size_multiple", "2"),
)
SITE = """\
partition = "test"
time = "00:20:00"
hosts = 2
# slurmd 22.05 may crash when several runs start at the same moment
at_once = 1
# the names of our nodes are no names of machines
lines = ["export JAX_COORDINATOR_ADDRESS=localhost:$((61440 + SLURM_JOB_ID % 4096))"]

[env]
JAX_PLATFORMS = "cpu"
XLA_FLAGS = "--xla_force_host_platform_device_count=1"
"""
MINUTES = 8


@pytest.fixture(scope="module")
def slurm_runs(tmp_path_factory) -> Iterator[Path]:
    """Start a cluster; yield a folder for runs."""
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "site.toml").write_text(SITE)
    with cluster(folder / "cluster"):
        yield folder / "runs"


def until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 60 * MINUTES
    while not holds():
        assert time.monotonic() < deadline, f"{what}: {said('squeue')}"
        time.sleep(0.3)


def submit(runs: Path, *words: str) -> int:
    site = str(runs.parent / "site.toml")
    return slurm.program([TINY, "--site", site, "--runs", str(runs), "--yes", *OVERRIDES, *words])


def losses(run: Path) -> dict[int, float]:
    return {row["step"]: row["loss"] for row in read(run) if row["split"] == "valid"}


def trained_a_little(run: Path) -> bool:
    return (run / METRICS).exists() and len(losses(run)) > 2


def signalled(task: str, log: Path) -> None:
    """Send USR1 to a task, and wait until it has saved.

    scancel asks again, for minutes, if the task cannot be signalled at this moment, as when it has
    just ended: so it is not waited for.
    """
    with subprocess.Popen(("scancel", "--signal=USR1", task), stderr=subprocess.DEVNULL) as sending:
        until(lambda: "interrupted" in log.read_text(), "the first run saves")
        sending.kill()


def no_run_is_left() -> bool:
    """SLURM lets a task wait two minutes before it starts again: here it need not."""
    for line in said("squeue", "--noheader", "--array", "--format=%i %r").splitlines():
        task, reason = line.split(maxsplit=1)
        if reason == "BeginTime":
            said("scontrol", "update", f"JobId={task}", "StartTime=now")
    return not said("squeue", "--noheader")


def uninterrupted(runs: Path) -> None:
    """Make the same runs here, in two processes without SLURM."""
    command = [sys.executable, "-m", "attnjax", "run", TINY, "--runs", str(runs), *OVERRIDES]
    command += ["--together", "1"]
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=1",
        "JAX_COORDINATOR_ADDRESS": f"localhost:{spare_ports(1)[0]}",
        "JAX_NUM_PROCESSES": "2",
    }
    processes = [
        subprocess.Popen(
            command,
            env={**environment, "JAX_PROCESS_ID": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(2)
    ]
    for process in processes:
        output, _ = process.communicate(timeout=60 * MINUTES)
        assert process.returncode == 0, output


def metrics(run: Path) -> object:
    return json.loads((run / RESULT).read_text())["metrics"]


def test_runs_that_are_ended_come_to_the_result_of_runs_that_are_not(slurm_runs, capsys):
    assert submit(slurm_runs) == 0
    experiment = slurm_runs / "tiny"
    tasks = {run.run: run.task for run in queue.states(experiment)}
    assert list(tasks) == sorted(RUNS)

    # the time limit is near: the processes get USR1, save, and ask to be queued again
    until(lambda: trained_a_little(experiment / RUNS[0]), "the first run trains")
    signalled(tasks[RUNS[0]], experiment / queue.FOLDER / f"{tasks[RUNS[0]]}.txt")
    # a node is lost, or another user comes first: SLURM ends the task and queues it again
    until(lambda: trained_a_little(experiment / RUNS[3]), "the last run trains")
    said("scontrol", "requeue", tasks[RUNS[3]])
    until(no_run_is_left, "all runs end")

    assert {run.run: run.state for run in queue.states(experiment)} == dict.fromkeys(RUNS, "done")
    for run in (RUNS[0], RUNS[3]):
        log = (experiment / queue.FOLDER / f"{tasks[run]}.txt").read_text()
        assert "interrupted" in log, "it was ended in the middle of its training"
    assert (experiment / "report.html").exists()

    uninterrupted(slurm_runs.parent / "here")
    for run in RUNS:
        here = slurm_runs.parent / "here" / "tiny" / run
        assert metrics(experiment / run) == metrics(here)
        assert losses(experiment / run) == losses(here)
    with capsys.disabled():
        print(f"\n{len(RUNS)} runs of 2 processes on SLURM, 2 of them ended midway: equal bits")


def test_an_unknown_partition_is_refused_by_slurm(slurm_runs, capsys):
    site = slurm_runs.parent / "site.toml"
    site.write_text(SITE.replace('"test"', '"tset"'))
    assert submit(slurm_runs.parent / "refused") == 2
    assert "invalid partition specified: tset" in capsys.readouterr().err
