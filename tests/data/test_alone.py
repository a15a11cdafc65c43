"""Which processes work on a folder: one at a time, and those that this one may start."""

import errno
import fcntl
import multiprocessing
import socket
import threading
import time
from pathlib import Path

import pytest

from attnjax.data import preparation, tokenizing
from attnjax.data.corpus import Example
from attnjax.data.preparation import alone
from attnjax.errors import MachineError

SILENCE = 1.0  # seconds

PROCESSES = multiprocessing.get_context("forkserver")  # a fork of this one would have its threads
PROCESSES.set_forkserver_preload(["attnjax.data.preparation"])


def no_lock(*_):
    raise OSError(errno.ENOSYS, "no locks")


@pytest.fixture
def no_locks(monkeypatch):
    """A file system without locks."""
    monkeypatch.setattr(fcntl, "flock", no_lock)
    monkeypatch.setattr(preparation, "SECONDS_OF_SILENCE", SILENCE)


def hold(folder, kind, started):
    """Be alone on a folder until this process is killed."""
    if kind == "soft":
        fcntl.flock = no_lock
    preparation.SECONDS_OF_SILENCE = SILENCE
    with alone(folder, print):
        started.set()
        time.sleep(600)


def holding(folder, kind):
    """Start another process that is alone on a folder."""
    started = PROCESSES.Event()
    process = PROCESSES.Process(target=hold, args=(folder, kind, started), daemon=True)
    process.start()
    assert started.wait(60)
    return process


def end(process):
    process.kill()
    process.join()
    process.close()


def waited(folder):
    """What is said until this process is alone on a folder."""
    said = []
    with alone(folder, said.append) as check_alone:
        check_alone()
    return said


@pytest.fixture(params=["native", "soft"])
def kind(request) -> str:
    """The kind of lock that the file system has."""
    if request.param == "soft":
        request.getfixturevalue("no_locks")
    return request.param


def test_a_process_that_was_killed_is_not_waited_for(tmp_path, kind):
    folder = tmp_path / "corpus"
    end(holding(folder, kind))
    assert not waited(folder) or kind == "soft"
    assert waited(folder) == []


def test_a_process_that_works_is_waited_for_and_that_is_said(tmp_path, kind):
    folder = tmp_path / "corpus"
    process = holding(folder, kind)
    ended = threading.Event()

    def end_it():
        ended.set()
        end(process)

    threading.Timer(3 * SILENCE, end_it).start()
    assert waited(folder) == [f"data: waits for another process that prepares {folder}"]
    assert ended.is_set()


def test_the_sign_of_a_killed_process_of_another_machine_grows_old(tmp_path, no_locks):
    folder = tmp_path / "corpus"
    end(holding(folder, "soft"))
    marker = tmp_path / "corpus.lease"
    text = marker.read_text()
    assert socket.gethostname() in text
    marker.write_text(text.replace(socket.gethostname(), "elsewhere"))
    assert waited(folder) == [f"data: waits for another process that prepares {folder}"]


def test_an_empty_file_of_a_lock_is_no_process(tmp_path: Path, no_locks):
    """It stays where the folder was used by a machine with locks before."""
    (tmp_path / "corpus.lock").touch()
    assert waited(tmp_path / "corpus") == []


def test_who_was_overtaken_does_not_go_on(tmp_path, no_locks):
    folder = tmp_path / "corpus"

    def works_on(check_alone):
        while True:
            check_alone()
            time.sleep(0.1)

    with alone(folder, print) as check_alone:
        check_alone()
        (tmp_path / "corpus.lease").unlink()
        with pytest.raises(MachineError, match="was taken over by another process"):
            works_on(check_alone)


def test_a_worker_of_a_pool_starts_no_processes(monkeypatch):
    """It is a daemon: starting one is an AssertionError of Python."""
    examples = [Example(str(number), "") for number in range(5)]
    monkeypatch.setattr(tokenizing, "CHUNK", 2)
    monkeypatch.setattr(tokenizing, "ProcessPoolExecutor", None)
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    found = [*tokenizing.map_chunks(lambda chunk: [x.source for x in chunk], examples, 4)]
    assert found == [["0", "1"], ["2", "3"], ["4"]]
