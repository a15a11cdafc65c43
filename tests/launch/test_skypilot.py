"""SkyPilot's own parser reads every job that is rendered.

SkyPilot is installed into an environment of its own: its versions are not ours. `make test-sky`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from launch import sky
from tests.launch.test_sky import ROOT, SITES, TINY

pytestmark = pytest.mark.long

ENVIRONMENT = ROOT / ".venv" / "skypilot"
VERSION = "0.14.1"
PARSE = """\
import json, sys
import sky, yaml
from sky.data.storage_utils import get_excluded_files
task = sky.Task.from_yaml_config(yaml.safe_load(open(sys.argv[1])))
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
def parsed(skypilot, recorder, tmp_path):
    """What SkyPilot reads in the job of a site."""

    def parse(site: Path) -> dict:
        recorder.stand_in("sky")
        words = [TINY, "--runs", str(tmp_path), "--site", str(site), "--no-rehearsal", "--yes"]
        assert sky.program(words) == 0
        task = str(tmp_path / "tiny" / "sky" / "job.yaml")
        done = subprocess.run([skypilot, "-c", PARSE, task], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return parse


@pytest.mark.parametrize("name", SITES)
def test_skypilot_reads_the_job_of_every_site(parsed, name):
    job = parsed(ROOT / "launch" / "sites" / f"{name}.toml")
    assert job["recovery"]["recover_on_exit_codes"] == [75]
    assert job["excluded"] == [], "all of the code goes with the job"
    if name == "tpu":
        assert job["accelerators"] == {"tpu-v5litepod-8": 1}
        assert job["arguments"] == {
            "runtime_version": "v2-alpha-tpuv5-lite",
            "gcp_queued_resource": True,
        }
        assert job["mounts"] == {"/runs": "MOUNT_CACHED"}
        assert job["files"] == {"/data": "gs://my-bucket/corpora"}
        assert job["spot"]
    elif name == "sky-gpus":
        assert (job["hosts"], job["accelerators"]) == (2, {"L4": 4})
        assert job["recovery"]["max_restarts_on_errors"] == 3
    else:
        assert (job["accelerators"], job["volumes"]) == ({"H100": 8}, {"/runs": "attnjax"})


def test_a_word_that_skypilot_does_not_know_is_refused(skypilot, tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text("resources: {job_recovery: {recover_on_exit_codes: [300]}}\nrun: echo\n")
    done = subprocess.run([skypilot, "-c", PARSE, str(path)], capture_output=True, text=True)
    assert done.returncode
    assert "recover_on_exit_codes" in done.stderr
