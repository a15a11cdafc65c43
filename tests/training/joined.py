"""Programs that run in several processes on this machine, joined through environment variables."""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from attnjax.training.devices import join


def start(
    arguments: Sequence[str | Path], *, processes: int, devices: int, **environment: str
) -> list[subprocess.Popen[str]]:
    """Start `python ARGUMENTS` in each process, with as many virtual devices as are given."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return [
        subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env=_environment(port, processes, index, devices) | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(processes)
    ]


def _environment(port: int, processes: int, index: int, devices: int) -> Mapping[str, str]:
    return {
        **os.environ,
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        join.COORDINATOR: f"127.0.0.1:{port}",
        join.COUNT: str(processes),
        join.INDEX: str(index),
    }


def finish(started: Sequence[subprocess.Popen[str]], *, seconds: float = 300) -> list[str]:
    """Wait until all have ended well; what each has written on standard error."""
    try:
        said = [process.communicate(timeout=seconds)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0] * len(started), "\n\n".join(said)
    return said
