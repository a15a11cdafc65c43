"""A run that asks for a GPU does not train on the CPU."""

import os
import subprocess
import sys
from pathlib import Path

TINY = Path(__file__).parents[1] / "tiny.py"


def test_a_platform_that_is_not_here_is_refused_in_one_sentence(tmp_path):
    environment = {**os.environ, "JAX_PLATFORMS": "cuda", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-m", "attnjax", "run", str(TINY), "--runs", str(tmp_path / "runs")],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(
        "attnjax: JAX_PLATFORMS asks for cuda, and there is no such device"
    )
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()
