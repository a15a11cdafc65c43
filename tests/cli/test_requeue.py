"""A batch system's signal ends a run at once with the exit code that asks for another turn."""

import signal
import subprocess
import sys

import pytest

from attnjax.lab.cli.requeue import SIGNALS, requeued

PROGRAM = """
import time
from attnjax.lab.cli.requeue import requeued

with requeued():
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_outside_of_training_ends_the_program_at_once(number):
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 75
    name = signal.Signals(number).name
    assert said == f"attnjax: interrupted by {name}; the same command goes on from what is saved\n"


def test_the_handlers_from_before_come_back():
    before = [signal.getsignal(number) for number in SIGNALS]
    with requeued():
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before
