"""`python -m launch.kubernetes`: what `kubectl` is told."""

from pathlib import Path

import pytest
import yaml

from launch.kubernetes import __main__ as kubernetes
from tests.launch import golden

TINY = str(Path(__file__).parents[2] / "tiny.py")
SITES = Path(__file__).parents[3] / "launch" / "sites"
SITE = ("--site", str(SITES / "kubernetes.toml"))


@pytest.mark.parametrize("name", ["kubernetes", "kubernetes-tpu"])
def test_a_dry_run_prints_the_manifests(recorder, tmp_path, capsys, name):
    recorder.stand_in("kubectl")
    words = [
        golden.experiment(tmp_path),
        "--site",
        str(SITES / f"{name}.toml"),
        "--variant",
        "scaled",
        "--seeds",
        "1",
    ]
    assert kubernetes.program([*words, "--dry-run"]) == 0
    golden.same(f"{name}.txt", capsys.readouterr().out)
    assert not recorder.calls


def test_the_file_is_applied_and_the_runs_are_created(recorder):
    recorder.stand_in("kubectl")
    assert kubernetes.program([TINY, *SITE, "--yes", "--training.steps", "9"]) == 0
    applied, created = recorder.calls
    assert applied.words == ["kubectl", "apply", "--filename=-"]
    (file,) = yaml.safe_load_all(applied.text)
    assert file["data"] == {"tiny.py": Path(TINY).read_text()}
    assert created.words == ["kubectl", "create", "--filename=-"]
    sets = list(yaml.safe_load_all(created.text))
    assert [one["metadata"]["name"] for one in sets] == [
        f"tiny-{variant}-seed-{seed}" for variant in ("scaled", "cosine") for seed in (0, 1)
    ]
    pod = sets[3]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"] == [
        *("python", "-m", "attnjax", "run", "/experiment/tiny.py", "--runs", "/data/runs"),
        *("--training.steps", "9", "--variant", "cosine", "--seed", "1"),
    ]
    assert {"name": "experiment", "configMap": {"name": file["metadata"]["name"]}} in pod["volumes"]


def test_another_text_of_the_experiment_has_an_object_of_its_own(recorder, tmp_path):
    recorder.stand_in("kubectl")
    file = tmp_path / "tiny.py"
    file.write_text(Path(TINY).read_text() + "# changed\n")
    for one in (TINY, str(file)):
        assert kubernetes.program([one, *SITE, "--yes"]) == 0
    names = {
        yaml.safe_load(call.text)["metadata"]["name"]
        for call in recorder.calls
        if call.words[1] == "apply"
    }
    assert len(names) == 2


def test_a_run_that_is_there_is_refused_in_the_words_of_kubernetes(recorder, capsys):
    recorder.stand_in("kubectl")
    error = 'Error from server (AlreadyExists): jobsets "tiny-scaled-seed-0" already exists\n'
    recorder.answer("kubectl", "create", error=error, code=1)
    assert kubernetes.program([TINY, *SITE, "--yes"]) == 2
    assert capsys.readouterr().err == f"attnjax: kubectl refuses: {error}"


def test_without_kubectl_it_is_said_how_to_get_it(nothing_installed, capsys):
    assert kubernetes.program([TINY, *SITE, "--yes"]) == 2
    assert "the program kubectl is not on this machine: install it" in capsys.readouterr().err


def test_a_run_that_begins_with_another_is_launched_after_it(tmp_path, capsys):
    file = tmp_path / "tiny.py"
    begins = 'vary(base, {"initial_parameters_from": "tiny/cosine"})'
    file.write_text(Path(TINY).read_text().replace('"scaled": base,', f'"scaled": {begins},'))
    assert kubernetes.program([str(file), *SITE, "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert "scaled/seed-0 begins with the parameters of /data/runs/tiny/cosine/seed-0" in said


@pytest.mark.parametrize(
    "command, words",
    [
        ("status", ["get", "jobsets,pods"]),
        ("logs", ["logs", "--prefix", "--tail=20"]),
        ("delete", ["delete", "jobsets,jobs,configmaps"]),
    ],
)
def test_the_objects_of_an_experiment_are_found_by_their_label(recorder, command, words):
    recorder.stand_in("kubectl")
    options = ["--yes"] if command == "delete" else []
    assert kubernetes.program([command, "tiny-short", *SITE, *options]) == 0
    assert recorder.calls[-1].words == [
        *("kubectl", *words, "--namespace=research", "--selector=attnjax-experiment=tiny-short")
    ]


def test_a_report_is_a_job_that_needs_no_gpu(recorder):
    recorder.stand_in("kubectl")
    assert kubernetes.program(["report", "tiny", *SITE]) == 0
    job = yaml.safe_load(recorder.calls[0].text)
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert container["command"][3:] == ["report", "/data/runs/tiny", "--trust"]
    assert "resources" not in container
