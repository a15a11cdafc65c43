"""A run is trained by one process at a time, of whichever machine."""

import errno
import fcntl
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from attnjax.lab.runs import lease
from attnjax.lab.runs.lease import Lost, Taken, holder, leased

HOLD = """
import os, sys
from pathlib import Path
from attnjax.lab.runs import lease

folder, machine, locks = sys.argv[1:]
lease._machine = lambda: machine or str(os.getpid())
if not locks:
    lease._lock = lambda *_: None
with lease.leased([Path(folder)]):
    print("leased", flush=True)
    sys.stdin.read()
"""


def hold(folder: Path, machine: str, *, locks: bool = True) -> subprocess.Popen[str]:
    """Return a process that holds the run until its input ends; machine "": one of its own."""
    words = [sys.executable, "-c", HOLD, str(folder), machine, "yes" if locks else ""]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def grow_old(folder: Path, seconds: float) -> None:
    """Let the last sign of life be so long ago."""
    path = max(folder.glob("lease-*.json"))
    before = path.stat().st_mtime - seconds
    os.utime(path, (before, before))


def test_a_process_that_dies_here_is_followed_at_once(tmp_path):
    process = hold(tmp_path, lease._machine())
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "leased\n"
        found = holder(tmp_path)
        assert found is not None
        assert found.lease.pid == process.pid
        grow_old(tmp_path, 10 * lease.SECONDS_OF_SILENCE)
        said = f"is being trained by another process .*{process.pid}"
        with pytest.raises(Taken, match=said), leased([tmp_path]):
            pass
    finally:
        process.kill()
        process.communicate()
    assert holder(tmp_path) is None
    with leased([tmp_path]) as leases:
        leases.check()
        assert [path.name for path in tmp_path.glob("lease-*")] == ["lease-2.json"]
    assert holder(tmp_path) is None


def test_a_silent_machine_is_followed_and_notices(tmp_path, monkeypatch):
    """The other machine is this process under another name; its lock says nothing about it."""
    with ExitStack() as elsewhere:
        monkeypatch.setattr(lease, "_machine", lambda: "elsewhere")
        theirs = elsewhere.enter_context(leased([tmp_path]))
        monkeypatch.setattr(lease, "_machine", lambda: "here")
        grow_old(tmp_path, lease.SECONDS_OF_SILENCE - 30)
        with pytest.raises(Taken), leased([tmp_path]):
            pass
        theirs.check()
        grow_old(tmp_path, 31)
        assert holder(tmp_path) is None
        with leased([tmp_path]) as ours:
            ours.check()
            with pytest.raises(Taken, match="taken over by another machine"):
                theirs.check()
            elsewhere.close()
            ours.check()
            assert holder(tmp_path) is not None


def test_an_error_of_a_process_that_has_lost_its_run_has_that_reason(tmp_path):
    with pytest.raises(ZeroDivisionError), leased([tmp_path]):
        _ = 1 / 0
    with pytest.raises(Lost, match="taken over by another machine"), leased([tmp_path]):
        _ = 1 / lease._path(tmp_path, lease._latest(tmp_path) + 1).write_text("")


def test_a_run_is_let_go_though_the_disk_is_full(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with leased([tmp_path]):
        monkeypatch.setattr(lease, "write_json", full)
    monkeypatch.undo()
    with leased([tmp_path]):
        assert lease._latest(tmp_path) == 2


def test_a_sign_of_life_keeps_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(lease, "SECONDS_BETWEEN_SIGNS", 0.01)
    with leased([tmp_path]) as leases:
        grow_old(tmp_path, 1000)
        leases.touch()
        monkeypatch.setattr(lease, "_machine", lambda: "elsewhere")
        found = holder(tmp_path)
        assert found is not None
        assert found.silence < 60


def test_a_sign_of_life_from_the_future_is_none(tmp_path, monkeypatch):
    """A process died while the clock was a day ahead: others do not wait for that day."""
    with leased([tmp_path]) as leases:
        grow_old(tmp_path, -86_400)
        monkeypatch.setattr(lease, "_machine", lambda: "elsewhere")
        assert holder(tmp_path) is None
        leases.touch()  # one that lives gives another sign
        assert holder(tmp_path) is not None


def test_all_runs_or_none(tmp_path):
    with leased([tmp_path / "b"]):
        with (
            pytest.raises(Taken, match="/b is being trained"),
            leased([tmp_path / "a", tmp_path / "b"]),
        ):
            pass
        assert holder(tmp_path / "a") is None
        with leased([tmp_path / "a"]):
            pass


def test_of_many_processes_at_one_moment_one_wins(tmp_path):
    """No lock tells them apart, so the new file alone decides."""
    processes = [hold(tmp_path, "", locks=False) for _ in range(4)]
    said = [process.stdout.readline() for process in processes if process.stdout]
    for process in processes:
        process.communicate("")
    assert sorted(said) == ["", "", "", "leased\n"]


def test_a_file_system_without_locks_is_no_obstacle(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with leased([tmp_path]):
        with pytest.raises(Taken), leased([tmp_path]):
            pass
        grow_old(tmp_path, lease.SECONDS_OF_SILENCE + 1)
        assert holder(tmp_path) is None
