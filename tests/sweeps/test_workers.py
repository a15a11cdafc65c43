"""Workers of a command: what is shown of them, how they end, and that their number changes no bit.

The first tests have workers that do no more than talk. In the last ones nobody looks by himself
for what others have left, so that a worker who is not called when there is something to do waits
until the test fails.
"""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from attnjax.config.console import PlainConsole
from attnjax.errors import Interrupted, MachineError
from attnjax.lab.runs.lease import holder
from attnjax.lab.sweeps.worker_devices import WorkerDevice
from attnjax.lab.sweeps.workers import work
from tests.sweeps.test_processes import results
from tests.sweeps.test_ties import TIED

TINY = Path(__file__).parents[1] / "tiny.py"
HEAD = """
import os, signal, sys, time
from attnjax.lab.sweeps.worker import Worker
place = int(os.environ["ATTNJAX_WORKER"].split('"place": ')[1][0])
worker = Worker.begun(os.environ)
def say(line):
    print(line, file=sys.stderr, flush=True)
"""


def together(count: int, program: str) -> tuple[int | str, str, str]:
    """Let workers follow a program.

    Returns the exit code, or the name of the error, and what is shown of them.
    """
    shown = io.StringIO()
    console = PlainConsole(file=shown, width=200)
    devices = [WorkerDevice()] * count
    try:
        code = work([sys.executable, "-c", HEAD + program], devices, console)
    except (Interrupted, MachineError, KeyboardInterrupt) as error:
        return type(error).__name__, shown.getvalue(), str(error)
    return code, shown.getvalue(), ""


def test_what_all_workers_say_is_shown_once_and_one_of_them_prints(capfd):
    code, shown, _ = together(
        3,
        """
print("data: a note")
say(f"by {place}")
say("twice") if place == 1 else None
say("twice") if place == 1 else None
if worker.prints():
    print("the table")
    say("attnjax: failed: a/seed-0")
    sys.exit(2)
""",
    )
    assert code == 2
    lines = shown.splitlines()
    assert sorted(lines[:-1]) == ["by 0", "by 1", "by 2", "data: a note", "twice", "twice"]
    assert lines[-1] == "attnjax: failed: a/seed-0"
    assert capfd.readouterr().out == "the table\n"


@pytest.mark.parametrize(
    ("program", "code", "said", "why"),
    [
        # one dies, and the others go on
        ("os.kill(os.getpid(), signal.SIGKILL) if place == 1 else None; worker.prints()",
         0, "worker 2 was ended by SIGKILL; the others take up its runs\n", ""),
        ("sys.exit(1) if place == 0 else None; worker.prints()",
         0, "worker 1 ended with the exit code 1; the others take up its runs\n", ""),
        # a mistake that all find out is said once
        ("say('attnjax: unknown variant'); sys.exit(2)", 2, "attnjax: unknown variant\n", ""),
        # a signal that came to the workers alone
        ("sys.exit(75)", 75, "ended with the exit code 75", ""),
        # all die
        ("os.kill(os.getpid(), signal.SIGSEGV)", "MachineError", "was ended by SIGSEGV",
         "no worker is left to go on"),
        # the one that prints dies
        ("worker.prints() and os.kill(os.getpid(), signal.SIGKILL)", "MachineError", "",
         "no worker is left"),
    ],
)  # fmt: skip
def test_how_workers_end(program, code, said, why):
    came, shown, error = together(2, program)
    assert came == code
    assert said in shown
    assert shown.count("the others") <= 1
    assert why in error


SIGNALED = """
from pathlib import Path
there = Path("{folder}/there")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(75))
try:
    if place == 1:
        there.touch()
    while not there.exists():
        time.sleep(0.01)
    if place == 0:
        os.kill(os.getppid(), signal.{name})
    time.sleep(600)
except KeyboardInterrupt:
    {then}
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGUSR1"])
def test_a_signal_lets_all_workers_save(tmp_path, name):
    then = "worker.saved(f'run {place} is saved at step 3'); sys.exit(75)"
    code, shown, why = together(2, SIGNALED.format(folder=tmp_path, name=name, then=then))
    assert code == "Interrupted"
    assert sorted(why.split(", ")) == ["run 0 is saved at step 3", "run 1 is saved at step 3"]
    assert shown == ""


@pytest.mark.parametrize(
    ("name", "code"),
    [("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "Interrupted"), ("SIGUSR1", "Interrupted")],
)
def test_a_signal_while_nothing_is_trained_is_said_by_this_process_alone(tmp_path, name, code):
    then = "say('attnjax: interrupted; the same command goes on'); sys.exit(130)"
    came, shown, _ = together(2, SIGNALED.format(folder=tmp_path, name=name, then=then))
    assert (came, shown) == (code, "")


def test_a_worker_that_stands_still_is_called_when_another_has_finished_or_died():
    program = """
if place == 0:
    worker.finished()
    worker.wait(3600, "waits for b", say)
    say("called again")
elif place == 1:
    worker.wait(3600, "waits for a", say)
    say("called")
    os.kill(os.getpid(), signal.SIGKILL)
worker.prints()
"""
    code, shown, _ = together(2, program)
    assert code == 0
    assert [line for line in shown.splitlines() if not line.startswith("waits")] == [
        "called",
        "worker 2 was ended by SIGKILL; the others take up its runs",
        "called again",
    ]


def test_what_is_waited_for_is_said_if_no_worker_holds_it(tmp_path):
    code, shown, _ = together(
        3,
        f"""
from pathlib import Path
if place < 2:
    Path(f"{tmp_path}/{{place}}").touch()
    worker.wait(3600, "waits for a run", say)
else:
    say("trains")
    while len([*Path("{tmp_path}").iterdir()]) < 2:
        time.sleep(0.01)
    worker.wait(2.0, "waits for a run", say)
    worker.finished()
worker.prints()
""",
    )
    assert (code, shown) == (0, "trains\nwaits for a run\n")


def test_a_worker_whose_command_has_died_saves_and_ends(tmp_path):
    program = """
try:
    open(sys.argv[1] + f"/{place}", "w").close()
    time.sleep(600)
except KeyboardInterrupt:
    worker.saved("no one hears this")
    open(sys.argv[1] + f"/{place}-saved", "w").close()
"""
    command = [sys.executable, "-c", HEAD + program, str(tmp_path)]
    starting = f"""
from attnjax.config.console import PlainConsole
from attnjax.lab.sweeps.worker_devices import WorkerDevice
from attnjax.lab.sweeps.workers import work
work({command!r}, [WorkerDevice()] * 2, PlainConsole(stderr=True))
"""
    with subprocess.Popen([sys.executable, "-c", starting]) as parent:
        wait_for(lambda: len([*tmp_path.iterdir()]) == 2)
        workers = children(parent.pid)
        assert len(workers) == 2
        parent.kill()
    wait_for(lambda: not any(map(alive, workers)))
    assert {path.name for path in tmp_path.iterdir()} == {"0", "0-saved", "1", "1-saved"}


# ------------------------------------------------------------------ whole sweeps

ASLEEP = """
import attnjax.lab.sweeps.sweep
attnjax.lab.sweeps.sweep.SECONDS_BETWEEN_LOOKS = 3600.0
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """A tuned experiment whose variants tie, so that all kinds of runs occur."""
    path = tmp_path_factory.mktemp("sweep") / "shared.py"
    path.write_text(TINY.read_text() + TIED + ASLEEP)
    return path


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """Processes that compile each program once."""
    compiled = str(tmp_path_factory.mktemp("compiled"))
    return {**os.environ, "JAX_COMPILATION_CACHE_DIR": compiled}


def begin(path: Path, folder: Path, environment, jobs: int, *words: str) -> subprocess.Popen[str]:
    """Start a command with workers."""
    command = [sys.executable, "-m", "attnjax", "run", str(path), "--runs", str(folder)]
    return subprocess.Popen(
        [*command, "--jobs", str(jobs), *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return the exit code of a command, and what it printed and said."""
    printed, said = process.communicate(timeout=900)
    return process.returncode, printed, said


def children(parent: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) == parent:
            found.append(int(status.parent.name))
    return found


def alive(pid: int) -> bool:
    """Whether a process is there and runs; one that nobody waits for may stay as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: Callable[[], object], command: subprocess.Popen[str] | None = None) -> None:
    """Wait until it holds, while a command runs; a machine may be busy."""
    for _ in range(6000):
        if condition():
            return
        if command is not None and command.poll() is not None:
            raise AssertionError(f"it ended: {end(command)}")
        time.sleep(0.05)
    raise AssertionError("it did not come")


def holding(folder: Path) -> list[int]:
    """The processes that hold runs."""
    found = (holder(lock.parent) for lock in folder.rglob("lock"))
    return [one.lease.pid for one in found if one is not None]


def held_by(command: subprocess.Popen[str], folder: Path) -> set[int]:
    """The workers of a command that hold runs."""
    return set(holding(folder)) & set(children(command.pid))


def kinds(folder: Path) -> set[str]:
    """The kinds of machine of a sweep's runs."""
    found = [json.loads(path.read_text()) for path in folder.rglob("result.json")]
    return {result["machine"]["kind"] for result in found}


@pytest.fixture(scope="module")
def by_one(path, environment, tmp_path_factory) -> Path:
    """The runs of one worker."""
    folder = tmp_path_factory.mktemp("by-one")
    code, printed, said = end(begin(path, folder, environment, 1))
    assert code == 0, said
    assert "report: " in printed
    return folder


def test_two_workers_of_whom_one_is_killed_have_the_bits_of_one(
    path, environment, by_one, tmp_path
):
    command = begin(path, tmp_path, environment, 2)
    wait_for(lambda: held_by(command, tmp_path), command)
    workers = children(command.pid)
    victim = held_by(command, tmp_path).pop()
    os.kill(victim, signal.SIGKILL)
    code, printed, said = end(command)
    assert code == 0, said
    assert said.count("was ended by SIGKILL; the others take up its runs") == 1
    assert said.count("exact match") == 9
    assert len(said.splitlines()) == len(set(said.splitlines()))
    assert printed.count("report: ") == 1
    assert results(tmp_path) == results(by_one)
    (kind,) = kinds(tmp_path) | kinds(by_one)
    assert kind.endswith("-1")
    assert not any(map(alive, workers))


@pytest.mark.long
def test_a_command_that_is_killed_leaves_no_process_and_loses_nothing(
    path, environment, by_one, tmp_path
):
    command = begin(path, tmp_path, environment, 2)
    wait_for(lambda: held_by(command, tmp_path), command)
    workers = children(command.pid)
    command.kill()
    command.communicate()
    wait_for(lambda: not any(map(alive, workers)))
    assert not holding(tmp_path)
    code, _, said = end(begin(path, tmp_path, environment, 2))
    assert code == 0, said
    assert results(tmp_path) == results(by_one)


@pytest.fixture
def endless(environment, tmp_path) -> Iterator[subprocess.Popen[str]]:
    """A command of two workers, each of which is in the middle of a training."""
    path = tmp_path / "endless.py"
    path.write_text(TINY.read_text() + ASLEEP)
    command = begin(path, tmp_path, environment, 2, "--training.steps", "1000000")
    wait_for(lambda: len([*tmp_path.glob("endless/*/seed-0/metrics.jsonl")]) == 2, command)
    yield command
    command.kill()
    command.wait()


def test_ctrl_c_saves_what_all_workers_train(endless):
    workers = children(endless.pid)
    endless.send_signal(signal.SIGINT)
    code, _, said = end(endless)
    assert code == 75, said
    assert said.count("attnjax: interrupted (") == 1
    assert said.count("is saved at step") == 2
    assert not any(map(alive, workers))


def test_the_second_ctrl_c_ends_all_workers_at_once(endless):
    workers = children(endless.pid)
    for worker in workers:  # none of them can save
        os.kill(worker, signal.SIGSTOP)
    endless.send_signal(signal.SIGINT)
    time.sleep(1.0)
    assert endless.poll() is None
    endless.send_signal(signal.SIGINT)
    code, _, said = end(endless)
    assert code == 130
    assert said.splitlines()[-1].startswith("attnjax: interrupted; the same command goes on")
    assert not any(map(alive, workers))
