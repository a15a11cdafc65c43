"""One process at a time works on a folder; one that was killed is not waited for for ever."""

import errno
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from attnjax.data import alone as module
from attnjax.data.alone import alone
from attnjax.errors import MachineError

PROGRAM = """
import errno, sys, time
from pathlib import Path
from attnjax.data import alone as module
import filelock._unix as native

def none(*_):
    raise OSError(errno.ENOSYS, "no locks")

if sys.argv[2] == "soft":
    native.fcntl.flock = none
module.SECONDS_OF_SILENCE = 1.0
with module.alone(Path(sys.argv[1]), print):
    print("alone", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def no_locks(monkeypatch):
    """A file system without locks."""

    def none(*_):
        raise OSError(errno.ENOSYS, "no locks")

    monkeypatch.setattr("fcntl.flock", none)
    monkeypatch.setattr(module, "SECONDS_OF_SILENCE", 1.0)


def holding(folder, kind):
    """Another process that is alone on a folder."""
    command = [sys.executable, "-c", PROGRAM, str(folder), kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "alone\n"
    return process


def waited(folder):
    """What is said until this process is alone on a folder."""
    said = []
    with alone(folder, said.append) as still_alone:
        still_alone()
    return said


@pytest.mark.parametrize("kind", ["native", "soft"])
def test_a_process_that_was_killed_is_not_waited_for(tmp_path, kind, request):
    if kind == "soft":
        request.getfixturevalue("no_locks")
    folder = tmp_path / "corpus"
    process = holding(folder, kind)
    process.kill()
    process.communicate()
    assert not waited(folder) or kind == "soft"
    assert waited(folder) == []


@pytest.mark.parametrize("kind", ["native", "soft"])
def test_a_process_that_works_is_waited_for_and_that_is_said(tmp_path, kind, request):
    if kind == "soft":
        request.getfixturevalue("no_locks")
    folder = tmp_path / "corpus"
    process = holding(folder, kind)
    ended = threading.Event()

    def end():
        ended.set()
        process.send_signal(signal.SIGKILL)
        process.communicate()

    threading.Timer(3, end).start()  # three times as long as a silence
    assert waited(folder) == [f"data: waits for another process that prepares {folder}"]
    assert ended.is_set()


def test_the_sign_of_a_killed_process_of_another_machine_grows_old(tmp_path, no_locks):
    folder = tmp_path / "corpus"
    process = holding(folder, "soft")
    process.kill()
    process.communicate()
    marker = tmp_path / "corpus.lease"
    text = marker.read_text()
    assert socket.gethostname() in text
    marker.write_text(text.replace(socket.gethostname(), "elsewhere"))
    assert waited(folder) == [f"data: waits for another process that prepares {folder}"]


def test_an_empty_file_of_a_lock_is_no_process(tmp_path, no_locks):
    """It stays where the folder was used by a machine with locks before."""
    (tmp_path / "corpus.lock").touch()
    assert waited(tmp_path / "corpus") == []


def test_who_was_overtaken_does_not_go_on(tmp_path, no_locks):
    folder = tmp_path / "corpus"

    def works_on(still_alone):
        while True:
            still_alone()
            time.sleep(0.1)

    with alone(folder, print) as still_alone:
        still_alone()
        (tmp_path / "corpus.lease").unlink()
        with pytest.raises(MachineError, match="was taken over by another process"):
            works_on(still_alone)
