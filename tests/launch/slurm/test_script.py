"""The scripts: run by bash, with stand-ins for SLURM's programs."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import characters, lists, text

from attnjax.errors import UserError
from launch.slurm.plan import LaunchedRun
from launch.slurm.script import report_script, run_script
from launch.slurm.site import SlurmSite

LOGS = Path("/runs/tiny/slurm")
RUNS = [
    LaunchedRun(
        variant=variant, seeds=(seed,), folders=(Path(f"/runs/tiny/{variant}/seed-{seed}"),)
    )
    for variant in ("a plain", "it's")
    for seed in (0, 1)
]


def bash(script: str, task: int) -> int:
    environment = {**os.environ, "SLURM_ARRAY_TASK_ID": str(task), "SLURM_JOB_ID": "77"}
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        done = subprocess.run(["bash", file.name], stdin=subprocess.DEVNULL, env=environment)
    return done.returncode


@given(lists(text(characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8)
def test_the_arguments_arrive_as_they_were_given(recorder, words):
    recorder.stand_in("srun", "scontrol")
    assert bash(run_script(SlurmSite(), "tiny", words, RUNS, LOGS), task=3) == 0
    called = recorder.calls[-1].words
    assert called[called.index(sys.executable) :] == [
        *(sys.executable, "-m", "attnjax", "run", *words),
        *("--variant", "it's", "--seed", "1"),
    ]


@pytest.mark.parametrize("mark", ["\n", "\r", "\x1b", "\x7f"])
def test_a_control_character_never_becomes_a_line_of_the_script(mark):
    word = f"tiny{mark}#SBATCH --account=yours"
    scripts = (
        lambda: run_script(SlurmSite(), word, [], RUNS, LOGS),
        lambda: run_script(SlurmSite(), "tiny", [word], RUNS, LOGS),
        lambda: run_script(SlurmSite(), "tiny", [], RUNS, LOGS / word),
        lambda: run_script(SlurmSite(partition=word), "tiny", [], RUNS, LOGS),
        lambda: run_script(SlurmSite(lines=(word,)), "tiny", [], RUNS, LOGS),
        lambda: report_script(SlurmSite(), "tiny", LOGS / word, LOGS),
    )
    for script in scripts:
        with pytest.raises(UserError, match="wanted no line break") as caught:
            script()
        assert mark not in str(caught.value)


@pytest.mark.parametrize(
    "code, queued", [(0, False), (1, False), (2, False), (75, True), (137, False)]
)
def test_a_run_that_is_saved_is_queued_again(recorder, code, queued):
    recorder.stand_in("srun", "scontrol")
    recorder.answer("srun", code=code)
    assert bash(run_script(SlurmSite(), "tiny", [], RUNS, LOGS), task=0) == code
    again = [call.words for call in recorder.calls if call.words[0] == "scontrol"]
    assert again == ([["scontrol", "requeue", "77"]] if queued else [])


def options(script: str) -> list[str]:
    return [line.removeprefix("#SBATCH ") for line in script.splitlines() if line.startswith("#SB")]


def test_a_site_says_what_a_run_asks_for():
    site = SlurmSite(
        partition="gpu",
        account="me",
        time="01:00:00",
        grace=60,
        hosts=2,
        processes=4,
        gpus=4,
        cores=8,
        memory="64G",
        at_once=3,
        modules=("cuda/12",),
        container=("apptainer", "exec", "--nv", "a b.sif"),
        python="python",
        lines=("export ATTNJAX_DATA=$HOME/data",),
        options=("--qos=long",),
    )
    script = run_script(site, "tiny", ["tiny.py"], RUNS, LOGS)
    asked = {"--array=0-3%3", "--nodes=2", "--ntasks-per-node=4", "--gpus-per-node=4"}
    asked |= {"--cpus-per-task=8", "--mem=64G", "--time=01:00:00", "--signal=USR1@60", "--qos=long"}
    asked |= {"--partition=gpu", "--account=me", "--requeue", "--open-mode=append"}
    assert asked <= set(options(script))
    assert (
        "export JAX_PLATFORMS=cuda\nmodule load cuda/12\nexport ATTNJAX_DATA=$HOME/data\n" in script
    )
    assert "apptainer exec --nv 'a b.sif' python -m attnjax run tiny.py" in script


def test_a_per_cent_sign_in_a_folder_is_no_pattern():
    script = run_script(SlurmSite(), "tiny", [], RUNS, Path("/runs/50%j/slurm"))
    assert "--output=/runs/50%%j/slurm/%A_%a.txt" in options(script)


def test_without_gpus_the_platform_is_left_to_jax():
    assert "JAX_PLATFORMS" not in run_script(SlurmSite(), "tiny", [], RUNS, LOGS)


def test_the_report_needs_no_gpu():
    site = SlurmSite(partition="gpu", report_partition="cpu", gpus=4, hosts=2)
    script = report_script(site, "tiny-report", Path("/runs/tiny"), LOGS)
    assert "--partition=cpu" in options(script)
    assert not [option for option in options(script) if "gpu" in option]
    assert "JAX_PLATFORMS=cpu" in script
    assert "JAX_PLATFORMS=cuda" not in script
    assert script.endswith(f"{sys.executable} -m attnjax report /runs/tiny\n")
