"""Ctrl-C while modules are imported: one line, exit code 130, never a traceback, never success."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TINY = str(Path(__file__).parent / "tiny.py")
LISTENING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""A program that a shell starts in the background ignores the signal; this one does not."""


@pytest.mark.parametrize(
    "module",
    [
        *("attnjax.errors", "attnjax.lab.cli.main", "numpy"),
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("jax", "flax", "orbax.checkpoint")
        ),
    ],
)
def test_ctrl_c_while_modules_are_imported(tmp_path, module):
    # Python names each module on standard error when it has been imported
    command = [sys.executable, "-c", LISTENING, "-X", "importtime", "-m", "attnjax", "run", TINY]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_VERSION"}
    said = []
    with subprocess.Popen(
        [*command, "--runs", str(tmp_path)],
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if not line.startswith("import time:"):
                said.append(line)
            elif line.rpartition("|")[2].strip() == module:
                process.send_signal(signal.SIGINT)
                break
        said += [line for line in process.stderr if not line.startswith("import time:")]
    assert process.returncode == 130
    assert len(said) == 1
    assert said[0].startswith("attnjax: interrupted")
    assert not list(tmp_path.iterdir())
