"""Several processes work on one sweep in one folder; one of them is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from attnjax.config.override import Override
from attnjax.errors import MachineError
from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.loop import loop
from attnjax.lab.runs.lease import holder, leased
from attnjax.lab.sweeps import sweep
from attnjax.lab.sweeps.request import Request
from attnjax.lab.sweeps.worker import Member
from tests.runs.test_lease import hold
from tests.sweeps.test_ties import TIED

TINY = Path(__file__).parents[1] / "tiny.py"
PROGRAM = """
import sys
from attnjax.lab.sweeps import sweep
sweep.SECONDS_BETWEEN_LOOKS = 0.1
from rich.console import Console

from attnjax.lab.cli.main import main
from attnjax.config.override import Override
from attnjax.errors import MachineError
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """Processes that compile each program once."""
    compiled = str(tmp_path_factory.mktemp("compiled"))
    return {**os.environ, "JAX_COMPILATION_CACHE_DIR": compiled}


def command(path: Path, folder: Path) -> list[str]:
    return ["run", str(path), "--runs", str(folder), "--together", "1"]


def start(path: Path, folder: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", PROGRAM, *command(path, folder)]
    return subprocess.Popen(
        words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def held(folder: Path, pid: int) -> bool:
    """Whether a process holds a run."""
    found = (holder(lock.parent) for lock in folder.rglob("lock"))
    return any(one is not None and one.lease.pid == pid for one in found)


def results(folder: Path) -> dict[str, tuple[object, ...]]:
    """The metrics, the validation loss and the answers of each run."""
    found = {}
    for path in sorted(folder.rglob("result.json")):
        content, answers = json.loads(path.read_text()), path.parent / "hypotheses.txt"
        found[str(path.parent.relative_to(folder))] = (
            content["metrics"],
            content["best_validation_loss"],
            answers.read_text() if answers.exists() else "",
        )
    return found


@pytest.mark.long
@pytest.mark.parametrize(("text", "seeds", "points"), [("", 4, 0), (TIED, 9, 8)], ids=["", "tuned"])
def test_each_run_is_done_once_and_as_by_one_process(tmp_path, environment, text, seeds, points):
    path = tmp_path / "shared.py"
    path.write_text(TINY.read_text() + text)
    assert main(command(path, tmp_path / "alone")) == 0
    folder = tmp_path / "together"
    victim = start(path, folder, environment)
    while not held(folder, victim.pid):
        assert victim.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
    others = [start(path, folder, environment) for _ in range(2)]
    victim.send_signal(signal.SIGKILL)
    done = victim.communicate()[1].count("exact match")
    for other in others:
        said = other.communicate(timeout=900)[1]
        assert other.returncode == 0, said
        done += said.count("exact match")
    assert done == seeds, "each run once"
    assert results(folder) == results(tmp_path / "alone")
    assert len(results(folder)) == seeds + points
    ours, theirs = (
        json.loads((runs / "shared" / "summary.json").read_text())
        for runs in (folder, tmp_path / "alone")
    )
    assert [row["seeds"] for row in ours["rows"]] == [row["seeds"] for row in theirs["rows"]]


def test_a_run_that_another_process_finished_before_the_lease_is_not_done_again(
    tmp_path, monkeypatch, capsys
):
    words = ["run", str(TINY), "--runs", str(tmp_path), "--variant", "scaled", "--seeds", "1"]

    @contextmanager
    def late(folders):
        """A lease that comes after another process has done the run."""
        with monkeypatch.context() as other:
            other.setattr(sweep, "leased", leased)
            assert main(words) == 0
        with leased(folders) as leases:
            yield leases

    monkeypatch.setattr(sweep, "leased", late)
    assert main(words) == 0
    assert capsys.readouterr().err.count("exact match") == 1


def test_a_process_that_has_lost_a_run_says_so_and_goes_on_with_the_next(
    tmp_path, monkeypatch, capsys
):
    """It slept within a save, and another machine took the run and its half checkpoint."""
    words = ["run", str(TINY), "--runs", str(tmp_path), "--seeds", "1", "--training.steps", "1"]
    trained, stolen = loop.train, tmp_path / "tiny" / "scaled" / "seed-0" / "lease-2.json"

    def sleep_through(runs, *given, **named):
        if not stolen.parent.joinpath("slept").exists():
            stolen.parent.joinpath("slept").touch()
            stolen.touch()
            raise MachineError("the folder cannot be written to (No such file or directory)")
        return trained(runs, *given, **named)

    monkeypatch.setattr(loop, "train", sleep_through)
    # while this process waits, the other machine lets the run go
    monkeypatch.setattr(time, "sleep", lambda _: stolen.unlink(missing_ok=True))
    assert main(words) == 0
    said = capsys.readouterr().err
    assert f"{stolen.parent} was taken over by another machine" in said
    assert "cannot be written" not in said
    assert said.index("taken over") < said.index("cosine, seed 0: exact match")
    assert said.index("cosine, seed 0: exact match") < said.index("scaled, seed 0: exact match")


def test_others_are_called_after_runs_of_this_process_alone(tmp_path):
    """Two that wait for a third would call each other without end."""
    first = tmp_path / "scaled" / "seed-0"
    other = hold(first, "")

    class Called(Member):
        calls = waits = 0

        def wait(self, seconds, sentence, say) -> None:
            self.waits += 1
            if self.waits == 3:
                other.communicate()

        def finished(self) -> None:
            self.calls += 1

    assert other.stdout is not None
    assert other.stdout.readline() == "leased\n"
    steps = Override("training.steps", "1", choice=False)
    request = Request(loaded=load(TINY), seeds=1, folder=tmp_path, overrides=(steps,))
    member = Called()
    assert sweep.sweep(request, Console(quiet=True), member) == {}
    assert (member.waits, member.calls) == (3, 2)
