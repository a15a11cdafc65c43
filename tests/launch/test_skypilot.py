"""SkyPilot's own parser reads every job that is rendered.

SkyPilot is installed into an environment of its own: its versions are not ours. `make test-sky`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from launch import sky
from tests.launch.test_sky import ROOT, SITES, TINY

pytestmark = pytest.mark.long

ENVIRONMENT = ROOT / ".venv" / "skypilot"
VERSION = "0.14.1"
PARSE = """\
import json, sys
import sky, yaml
from sky.data.storage_utils import get_excluded_files
for path in sys.argv[1:]:
    task = sky.Task.from_yaml_config(yaml.safe_load(open(path)))
    task.expand_and_validate_workdir()
    (resources,) = task.resources
    print(json.dumps({
        "hosts": task.num_nodes,
        "accelerators": resources.accelerators,
        "arguments": resources.accelerator_args,
        "spot": resources.use_spot,
        "recovery": resources.job_recovery,
        "mounts": {path: store.mode.value for path, store in task.storage_mounts.items()},
        "files": task.file_mounts,
        "volumes": task.volumes,
        "excluded": get_excluded_files(task.workdir),
    }))
"""


@pytest.fixture(scope="module")
def skypilot() -> Path:
    """The Python that has SkyPilot."""
    python = ENVIRONMENT / "bin" / "python"
    uv = [sys.executable, "-m", "uv"]
    if not python.exists() or subprocess.run([python, "-c", "import sky"]).returncode:
        for words in (
            ["venv", "--clear", "--python", sys.executable, str(ENVIRONMENT)],
            ["pip", "install", "--python", str(python), f"skypilot=={VERSION}"],
        ):
            done = subprocess.run([*uv, *words], capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"SkyPilot cannot be installed: {done.stderr.strip()[-300:]}")
    return python


@pytest.fixture
def launched(recorder, tmp_path):
    """Launches an experiment on a site; returns the file of the job."""

    def launch(site: Path) -> Path:
        recorder.stand_in("sky")
        runs = tmp_path / site.stem
        words = [TINY, "--runs", str(runs), "--site", str(site), "--no-rehearsal", "--yes"]
        assert sky.program(words) == 0
        return runs / "tiny" / "sky" / "job.yaml"

    return launch


def test_skypilot_reads_the_job_of_every_site(skypilot, launched):
    jobs = [launched(ROOT / "launch" / "sites" / f"{name}.toml") for name in SITES]
    done = subprocess.run([skypilot, "-c", PARSE, *jobs], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    tpu, gpus, kubernetes = read = [json.loads(line) for line in lines]
    for job in read:
        assert job["recovery"]["recover_on_exit_codes"] == [75]
        assert job["excluded"] == [], "all of the code goes with the job"
    assert tpu["accelerators"] == {"tpu-v5litepod-8": 1}
    assert tpu["arguments"] == {
        "runtime_version": "v2-alpha-tpuv5-lite",
        "gcp_queued_resource": True,
    }
    assert tpu["mounts"] == {"/runs": "MOUNT_CACHED"}
    assert tpu["files"] == {"/data": "gs://my-bucket/corpora"}
    assert tpu["spot"]
    assert (gpus["hosts"], gpus["accelerators"]) == (2, {"L4": 4})
    assert gpus["recovery"]["max_restarts_on_errors"] == 3
    assert kubernetes["accelerators"] == {"H100": 8}
    assert kubernetes["volumes"] == {"/runs": "attnjax"}


def test_a_word_that_skypilot_does_not_know_is_refused(skypilot, tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text("resources: {job_recovery: {recover_on_exit_codes: [300]}}\nrun: echo\n")
    done = subprocess.run([skypilot, "-c", PARSE, str(path)], capture_output=True, text=True)
    assert done.returncode
    assert "recover_on_exit_codes" in done.stderr


def test_the_code_that_goes_along_is_all_that_a_host_needs(launched, tmp_path):
    """Its scripts install attnjax and call it, here as on a host without GPUs."""
    site = tmp_path / "site.toml"
    site.write_text('runs = "gs://my-bucket/runs"\n')
    task = yaml.safe_load(launched(site).read_text())
    # uv and a Python, which a host gets from SkyPilot and uv
    places = (Path(sys.executable).parent, Path(sys.base_prefix) / "bin", os.environ["PATH"])
    environment = {
        **{name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"},
        **task["envs"],
        "PATH": ":".join(map(str, places)),
        "SKYPILOT_NODE_RANK": "0",
        "SKYPILOT_NUM_NODES": "1",
        "SKYPILOT_NODE_IPS": "127.0.0.1",
    }
    run = (
        task["run"].replace("/runs", str(tmp_path / "kept")).replace("tiny.py", "tiny.py --dry-run")
    )
    for script in (task["setup"], run):
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=task["workdir"],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    assert "4 of 4 runs are to be trained" in done.stdout
