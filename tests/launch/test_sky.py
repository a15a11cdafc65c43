"""The tasks of SkyPilot: what their hosts run, and, in `make test-sky`, SkyPilot's own parser.

SkyPilot is installed into an environment of its own: its versions are not ours.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from attnjax.lab.cli.main import parser
from attnjax.lab.cli.requeue import REQUEUE
from attnjax.lab.rehearsal import CHIPS, Topology
from attnjax.training.devices import join

ROOT = Path(__file__).parents[2]
NAMES = ("sky", "sky-tpu", "sky-kubernetes")
TEXTS = {name: (ROOT / "launch" / f"{name}.yaml").read_text() for name in NAMES}
TASKS = {name: yaml.safe_load(text) for name, text in TEXTS.items()}

every_task = pytest.mark.parametrize("name", NAMES)


@every_task
def test_the_command_is_shown_in_the_file_and_on_the_page(name):
    page = (ROOT / "docs" / "launch.md").read_text()
    command = f"sky jobs launch launch/{name}.yaml --env EXPERIMENT=luong2015"
    assert command in TEXTS[name]
    assert command in page


def mounts(task: dict) -> dict:
    """Return what is mounted where, buckets and volumes."""
    return {**task.get("file_mounts", {}), **task.get("volumes", {})}


@every_task
def test_runs_and_corpora_are_where_the_command_looks_for_them(name):
    """The runs outlive the machines, so that a job that is started again goes on."""
    mounted = mounts(TASKS[name])
    assert mounted.keys() == {"/runs", "/data"}
    assert TASKS[name]["envs"]["ATTNJAX_DATA"] == "/data"
    if "file_mounts" in TASKS[name]:
        # files that grow need a mount that writes them back; corpora are copied once
        assert mounted["/runs"]["mode"] == "MOUNT_CACHED"


@every_task
def test_a_run_that_is_saved_goes_on_however_often(name):
    recovery = TASKS[name]["resources"]["job_recovery"]
    assert recovery["recover_on_exit_codes"] == [REQUEUE]


class Host:
    """A host of a task: its scripts are run by bash, with stand-ins for uv and for Python."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self.programs = folder, programs
        (folder / ".venv" / "bin").mkdir(parents=True)

    def script(self, task: dict, part: str, **given: str) -> int:
        """Run `setup` or `run` with no variable but those of SkyPilot, the task and `--env`."""
        environment = {
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "SKYPILOT_NODE_RANK": "1",
            "SKYPILOT_NUM_NODES": "2",
            "SKYPILOT_NODE_IPS": "10.0.0.4\n10.0.0.7",
            **{key: value for key, value in task["envs"].items() if value is not None},
            **given,
        }
        # a variable that nobody sets ends the script
        words = ["bash", "-u", "-c", task[part]]
        return subprocess.run(words, cwd=self.folder, env=environment).returncode


@pytest.fixture
def host(recorder, tmp_path) -> Host:
    return Host(tmp_path, recorder.programs)


ATTNJAX = """\
#!/bin/bash
env -0 > environment
printf '%s\\n' "$@" > words
exit {code}
"""


def called(host: Host, task: dict, code: int = 0, **given: str) -> tuple[dict, list[str]]:
    """Run a task's command where attnjax is a few lines of bash: its environment, its arguments."""
    program = host.folder / ".venv" / "bin" / "python"
    program.write_text(ATTNJAX.format(code=code))
    program.chmod(0o755)
    assert host.script(task, "run", **given) == code
    variables = (host.folder / "environment").read_text().rstrip("\0").split("\0")
    environment = dict(variable.split("=", 1) for variable in variables)
    return environment, (host.folder / "words").read_text().splitlines()


@every_task
def test_attnjax_knows_the_command(name, host):
    arguments = "--variant general --seeds 3 --training.steps 9"
    _, words = called(host, TASKS[name], EXPERIMENT="my own.py", ARGUMENTS=arguments)
    assert words == ["-m", "attnjax", "run", "my own.py", "--runs", "/runs", *arguments.split()]
    given, changed = parser()[0].parse_known_args(words[2:])
    assert (given.command, given.experiment, given.runs) == ("run", "my own.py", Path("/runs"))
    assert (given.variant, given.seeds, changed) == (("general",), 3, ["--training.steps", "9"])
    _, words = called(host, TASKS[name], EXPERIMENT="luong2015")
    assert words[-2:] == ["--runs", "/runs"]


@every_task
@pytest.mark.parametrize("code", [2, REQUEUE])
def test_a_job_ends_with_the_exit_code_of_the_command(name, host, code):
    called(host, TASKS[name], code, EXPERIMENT="luong2015")


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("name", ["sky", "sky-kubernetes"])
def test_the_hosts_find_each_other(name, rank, host):
    environment, _ = called(host, TASKS[name], EXPERIMENT="luong2015", SKYPILOT_NODE_RANK=str(rank))
    assert join._given(environment) == ("10.0.0.4:8476", 2, rank)


def test_the_hosts_of_a_slice_are_left_to_jax(host):
    environment, _ = called(host, TASKS["sky-tpu"], EXPERIMENT="luong2015")
    assert join.COUNT not in environment
    assert TASKS["sky-tpu"].get("num_nodes", 1) == 1


@every_task
def test_the_checkout_is_installed_for_the_chips_and_trains_on_nothing_else(name, host, recorder):
    recorder.stand_in("uv")
    assert host.script(TASKS[name], "setup") == 0
    venv, install = (shlex.join(call.words) for call in recorder.calls)
    assert venv == "uv venv --clear --python 3.12 .venv"
    platform = TASKS[name]["envs"]["JAX_PLATFORMS"]
    assert install == (
        f"uv pip install --python .venv/bin/python --constraints constraints.txt '.[{platform}]'"
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert platform in project["optional-dependencies"]
    assert TASKS[name]["workdir"] == "."


def test_a_setup_that_fails_ends_the_job(host, recorder):
    recorder.stand_in("uv")
    recorder.answer("uv", "venv", code=1)
    assert host.script(TASKS["sky"], "setup") == 1


def test_the_slice_that_is_rehearsed_is_the_one_that_is_asked_for():
    (line,) = (line for line in TEXTS["sky-tpu"].splitlines() if "--on" in line)
    slice_ = Topology.named(line.partition("--on ")[2].split()[0])
    assert slice_.chip is CHIPS["v5e"]
    assert TASKS["sky-tpu"]["resources"]["accelerators"] == f"tpu-v5litepod-{slice_.count}"


ENVIRONMENT = ROOT / ".venv" / "skypilot"
VERSION = "0.14.1"
PARSE = """\
import json, sys
import sky, yaml
given = [tuple(word.split("=", 1)) for word in sys.argv[2:]]
task = sky.Task.from_yaml_config(yaml.safe_load(open(sys.argv[1])), env_overrides=given)
task.expand_and_validate_workdir()
(resources,) = task.resources
print(json.dumps({
    "hosts": task.num_nodes,
    "accelerators": resources.accelerators,
    "arguments": resources.accelerator_args,
    "spot": resources.use_spot,
    "recovery": resources.job_recovery,
    "buckets": {path: store.mode.value for path, store in task.storage_mounts.items()},
    "files": task.file_mounts,
    "volumes": task.volumes,
    "workdir": task.workdir,
    "envs": task.envs,
}))
"""


@pytest.fixture(scope="module")
def skypilot() -> Path:
    """Install SkyPilot, unless it is here; return the Python that has it."""
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


def parsed(python: Path, path: Path, *given: str) -> subprocess.CompletedProcess[str]:
    """Let SkyPilot read a task, with the variables of `--env`, in the checkout."""
    words = [python, "-c", PARSE, path, *given]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.long
def test_skypilot_reads_every_task(skypilot):
    read = []
    for name in NAMES:
        done = parsed(skypilot, ROOT / "launch" / f"{name}.yaml", "EXPERIMENT=luong2015")
        assert done.returncode == 0, done.stderr
        (line,) = (line for line in done.stdout.splitlines() if line.startswith("{"))
        read.append(json.loads(line))
    for task in read:
        assert task["recovery"]["recover_on_exit_codes"] == [REQUEUE]
        assert task["envs"]["EXPERIMENT"] == "luong2015"
        assert Path(task["workdir"]) == ROOT
    gpus, tpu, kubernetes = read
    assert (gpus["hosts"], gpus["accelerators"], gpus["spot"]) == (2, {"L4": 4}, True)
    assert tpu["accelerators"] == {"tpu-v5litepod-8": 1}
    assert tpu["arguments"] == {
        "runtime_version": "v2-alpha-tpuv5-lite",
        "gcp_queued_resource": True,
    }
    for task in (gpus, tpu):
        assert task["buckets"] == {"/runs": "MOUNT_CACHED"}
        assert task["files"] == {"/data": "gs://my-bucket/corpora"}
    assert kubernetes["accelerators"] == {"H100": 8}
    assert kubernetes["volumes"] == {"/runs": "attnjax-runs", "/data": "attnjax-data"}


@pytest.mark.long
def test_skypilot_asks_for_the_experiment(skypilot):
    done = parsed(skypilot, ROOT / "launch" / "sky.yaml")
    assert done.returncode
    assert "EXPERIMENT" in done.stderr


@pytest.mark.long
def test_a_word_that_skypilot_does_not_know_is_refused(skypilot, tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text("resources: {job_recovery: {recover_on_exit_codes: [300]}}\nrun: echo\n")
    done = parsed(skypilot, path)
    assert done.returncode
    assert "recover_on_exit_codes" in done.stderr


@pytest.mark.long
def test_the_checkout_is_all_that_a_host_needs(tmp_path):
    """The scripts install attnjax and call it, here as on one host without GPUs."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for file in filter(None, files.split("\0")):
        if (ROOT / file).is_file():
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, tmp_path / file)
    # uv and a Python, which a host gets from SkyPilot and uv
    places = (Path(sys.executable).parent, Path(sys.base_prefix) / "bin", os.environ["PATH"])
    environment = {
        **{key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"},
        "PATH": ":".join(map(str, places)),
        "SKYPILOT_NODE_RANK": "0",
        "SKYPILOT_NUM_NODES": "1",
        "SKYPILOT_NODE_IPS": "127.0.0.1",
        "JAX_PLATFORMS": "cpu",
        "EXPERIMENT": "tests/tiny.py",
        "ARGUMENTS": "--dry-run",
    }
    task = TASKS["sky"]
    setup = task["setup"].replace("'.[cuda]'", ".")
    for script in (setup, task["run"].replace("/runs", str(tmp_path / "kept"))):
        words = ["bash", "-c", script]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert "4 of 4 runs are to be trained" in done.stdout
