"""`python -m launch.sky`: the job that SkyPilot gets, and what its hosts run."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from attnjax.cli.main import parser
from attnjax.errors import UserError
from attnjax.training.devices import join
from launch import sky
from launch.site import read_site
from launch.sky import SkySite, job

ROOT = Path(__file__).parents[2]
TINY = str(ROOT / "tests" / "tiny.py")
SITES = ("tpu", "sky-gpus", "sky-kubernetes")
BUCKET = SkySite(runs="gs://bucket/runs", time="01:00:00")


def rendered(site: SkySite = BUCKET, *words: str) -> dict:
    return job(site, "tiny", [*words], Path("code"))


@pytest.fixture
def site(tmp_path) -> str:
    path = tmp_path / "site.toml"
    path.write_text('runs = "gs://bucket/runs"\nhosts = 2\ntime = "02:00:00"\nprice = 3.5\n')
    return str(path)


def refused(capsys, *words: str) -> str:
    capsys.readouterr()
    assert sky.program(list(words)) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1, message
    return message


def test_a_dry_run_prints_the_job_and_does_nothing(recorder, tmp_path, capsys, site):
    recorder.stand_in("sky")
    words = [TINY, "--runs", str(tmp_path / "runs"), "--site", site, "--dry-run"]
    assert (
        sky.program([*words, "--variant", "cosine", "--seeds", "3", "--training.steps", "9"]) == 0
    )
    printed = capsys.readouterr()
    task = yaml.safe_load(printed.out)
    assert task["num_nodes"] == 2
    assert task["name"] == "attnjax-tiny"
    assert printed.err.startswith("1 job x 2 hosts x 2 h = 4 host-hours = 14.00 USD at most")
    assert not recorder.calls
    assert not (tmp_path / "runs").exists()
    (command,) = {line for line in task["run"].splitlines() if "timeout" in line}
    words = shlex.split(command)
    assert words[words.index("attnjax") + 1 :] == [
        *("run", "launched/tiny.py", "--runs", "/runs", "--seeds", "3"),
        *("--training.steps", "9", "--variant", "cosine"),
    ]


def test_the_code_and_the_job_are_handed_to_skypilot(recorder, tmp_path, site):
    recorder.stand_in("sky")
    assert sky.program([TINY, "--runs", str(tmp_path), "--site", site, "--yes"]) == 0
    folder = tmp_path / "tiny" / "sky"
    assert [call.words for call in recorder.calls] == [
        ["sky", "jobs", "launch", "--yes", "--detach-run", str(folder / "job.yaml")]
    ]
    task = yaml.safe_load((folder / "job.yaml").read_text())
    code = Path(task["workdir"])
    assert (code / "launched" / "tiny.py").read_text() == Path(TINY).read_text()
    assert (code / "attnjax" / "__main__.py").exists()
    assert not (code / "launch").exists(), "sites may have secrets"


def test_what_skypilot_refuses_is_passed_on(recorder, tmp_path, capsys, site):
    recorder.stand_in("sky")
    recorder.answer("sky", code=1)
    words = [TINY, "--runs", str(tmp_path), "--site", site, "--yes"]
    assert "sky jobs launch refuses" in refused(capsys, *words)


def test_nothing_is_launched_without_consent(recorder, tmp_path, capsys, monkeypatch, site):
    recorder.stand_in("sky")
    monkeypatch.setattr("sys.stdin", None)
    words = [TINY, "--runs", str(tmp_path / "runs"), "--site", site]
    assert "repeat with --yes" in refused(capsys, *words)
    assert not recorder.calls
    assert not (tmp_path / "runs").exists()


def test_without_skypilot_it_is_named(nothing_installed, tmp_path, capsys, site):
    words = [TINY, "--runs", str(tmp_path), "--site", site, "--yes"]
    assert "the program sky is not on this machine: uv tool install" in refused(capsys, *words)


@pytest.mark.parametrize("fits", [True, False])
def test_chips_are_rehearsed_before_they_are_asked_for(
    recorder, tmp_path, capsys, monkeypatch, fits
):
    recorder.stand_in("sky", "python")
    recorder.answer("python", code=not fits)
    monkeypatch.setattr("sys.executable", str(recorder.programs / "python"))
    path = tmp_path / "site.toml"
    path.write_text('runs = "gs://bucket"\nchips = "v5e:4x4"\nprice = 4.8\ntime = "10:00:00"')
    words = [TINY, "--runs", str(tmp_path), "--site", str(path), "--yes", "--training.steps", "9"]
    assert sky.program([*words, "--variant", "cosine", "--variant", "scaled"]) == (0 if fits else 2)
    *rehearsals, last = (call.words for call in recorder.calls)
    common = ["python", "-m", "attnjax", "rehearse", TINY, "--training.steps", "9", "--on"]
    expected = [[*common, "v5e:4x4", "--variant", name] for name in ("cosine", "scaled")]
    printed = capsys.readouterr()
    if fits:
        assert rehearsals == expected
        assert last[:3] == ["sky", "jobs", "launch"]
        assert "1 job x 4 hosts x 10 h = 40 host-hours = 192.00 USD" in printed.out
    else:
        assert last == expected[0]
        assert "the training step cannot run on v5e:4x4" in printed.err
        recorder.answer("python", code=1)
        assert sky.program([*words, "--no-rehearsal"]) == 0


HOST = """\
#!/bin/bash
env > {folder}/environment
printf '%s\\n' "$@" > {folder}/words
{body}
"""


@pytest.fixture
def host(tmp_path):
    """Runs a job's script as a host of SkyPilot does, where attnjax is a few lines of bash."""

    def run(task: dict, rank: int, body: str) -> tuple[int, dict[str, str]]:
        code = tmp_path / "code"
        program = code / ".venv" / "bin" / "python"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(HOST.format(folder=tmp_path, body=body))
        program.chmod(0o755)
        (code / "changes.patch").write_text("commit 1")
        environment = {
            **os.environ,
            **task["envs"],
            "SKYPILOT_NODE_RANK": str(rank),
            "SKYPILOT_NUM_NODES": "2",
            "SKYPILOT_NODE_IPS": "10.0.0.4\n10.0.0.7",
        }
        script = task["run"].replace("/runs", f"{tmp_path}/runs")
        done = subprocess.run(["bash", "-c", script], cwd=code, env=environment)
        lines = (tmp_path / "environment").read_text().splitlines()
        return done.returncode, dict(line.split("=", 1) for line in lines if "=" in line)

    return run


@pytest.mark.parametrize("code, first, other", [(0, 0, 0), (75, 75, 0), (2, 2, 1), (137, 137, 1)])
def test_the_first_host_alone_asks_to_go_on(host, code, first, other):
    """SkyPilot starts a job again if any of its hosts ends with 75."""
    assert host(rendered(), 0, f"exit {code}")[0] == first
    assert host(rendered(), 1, f"exit {code}")[0] == other


def test_at_the_limit_the_run_saves_and_the_job_is_not_started_again(host, tmp_path):
    site = SkySite(runs="gs://bucket/runs", time="00:00:01")
    body = f"trap 'touch {tmp_path}/saved; exit 75' TERM\nwhile true; do sleep 0.1; done"
    code, _ = host(rendered(site), 0, body)
    assert code == 124
    assert (tmp_path / "saved").exists()


def test_the_hosts_find_each_other_and_the_record_is_kept(host, tmp_path):
    for rank in (0, 1):
        _, environment = host(rendered(), rank, "")
        assert join._given(environment) == ("10.0.0.4:8476", 2, rank)
        assert environment["ATTNJAX_DATA"] == "/data"
    assert (tmp_path / "runs" / "tiny" / "changes.patch").read_text() == "commit 1"


def test_the_hosts_of_a_slice_are_left_to_jax(host):
    _, environment = host(rendered(SkySite(runs="gs://bucket", chips="v5e:4x4")), 1, "")
    assert join.COUNT not in environment
    assert environment["JAX_PLATFORMS"] == "tpu"


def test_the_words_arrive_as_they_were_given(host, tmp_path):
    words = ["it's.py", "--note", "a b\n$c", "--runs", "x"]
    host(rendered(BUCKET, *words), 0, "")
    assert (tmp_path / "words").read_text() == "\n".join(["-m", "attnjax", "run", *words, ""])


def test_the_program_knows_the_command_that_it_renders():
    run = rendered(BUCKET, "tiny.py", "--runs", "/runs", "--variant", "a", "--seeds", "3")["run"]
    words = shlex.split(next(line for line in run.splitlines() if "timeout" in line))
    given = parser()[0].parse_args(words[words.index("attnjax") + 1 :])
    assert (given.command, given.variant, given.seeds) == ("run", ("a",), 3)


@pytest.mark.parametrize(
    "fields, platform, package",
    [
        ({}, "cpu", "."),
        ({"resources": {"accelerators": "L4:4"}}, "cuda", "'.[cuda]'"),
        ({"resources": {"accelerators": "tpu-v5-lite-podslice:4"}}, "tpu", "'.[tpu]'"),
        ({"chips": "h100:8"}, "cuda", "'.[cuda]'"),
        ({"chips": "v6e:2x4"}, "tpu", "'.[tpu]'"),
    ],
)
def test_jax_is_installed_for_the_chips_and_trains_on_nothing_else(fields, platform, package):
    task = rendered(SkySite(runs="gs://bucket", **fields))
    assert task["envs"]["JAX_PLATFORMS"] == platform
    assert task["setup"].endswith(f"--constraints constraints.txt {package}\n")


def test_runs_and_corpora_are_in_a_bucket_or_on_a_volume():
    bucket = rendered(SkySite(runs="gs://bucket/runs", data="gs://bucket/data"))
    assert bucket["file_mounts"] == {
        "/runs": {"source": "gs://bucket/runs", "mode": "MOUNT_CACHED"},
        "/data": "gs://bucket/data",
    }
    volume = rendered(SkySite(runs="results", data="corpora"))
    assert volume["volumes"] == {"/runs": "results", "/data": "corpora"}
    assert "file_mounts" not in volume


@pytest.mark.parametrize("name", SITES)
def test_the_examples_are_sites(name):
    assert read_site(ROOT / "launch" / "sites" / f"{name}.toml", SkySite).runs


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"chips": "v5e:3x3"}, "unknown topology 'v5e:3x3'"),
        ({"chips": "v5e:4x4", "hosts": 2}, "hosts: v5e:4x4 has its own number of hosts"),
        ({"chips": "h100:8", "resources": {"accelerators": "H100"}}, "leave one of the two out"),
        ({"time": "1h"}, "time: wanted HH:MM:SS"),
    ],
)
def test_a_site_that_cannot_be_had_is_refused(fields, message):
    with pytest.raises(UserError, match=message):
        SkySite(runs="gs://bucket", **fields)


def test_a_mistake_is_one_sentence(tmp_path, capsys, site):
    assert "--site FILE is missing" in refused(capsys, TINY, "--dry-run")
    words = [TINY, "--site", site, "--dry-run"]
    assert "did you mean scaled?" in refused(capsys, *words, "--variant", "scald")
    assert "did you mean --yes?" in refused(capsys, *words, "--yess")


def test_a_job_whose_data_stay_here_is_warned_of(tmp_path, capsys, site):
    text = Path(TINY).read_text()
    text = text.replace("import Copy", "import Copy\nfrom attnjax.data import ParallelText")
    task = "Copy(symbols=6, longest=4, train=48, valid=8, test=8)"
    for folder, data, reason in (
        ("pairs", "", "the site has no `data`: it looks for task.folder 'pairs'"),
        ("pairs", 'data = "gs://bucket/data"', ""),
        ("/here/pairs", 'data = "gs://bucket/data"', "an absolute path is of this machine"),
    ):
        experiment = tmp_path / "pairs.py"
        experiment.write_text(text.replace(task, f'ParallelText(folder="{folder}")'))
        wanted = tmp_path / "wanted.toml"
        wanted.write_text(f"{data}\n{Path(site).read_text()}")
        assert sky.program([str(experiment), "--site", str(wanted), "--dry-run"]) == 0
        error = capsys.readouterr().err
        assert reason in error
        assert ("warning: the job takes no data along" in error) == bool(reason)
    assert sky.program([TINY, "--site", site, "--dry-run"]) == 0
    assert "warning" not in capsys.readouterr().err
