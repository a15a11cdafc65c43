"""The status of a run, and how often a sweep hashes the files of a finished run."""

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from attnjax.config.override import split
from attnjax.errors import UserError
from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.runs import failures, run_folder
from attnjax.lab.runs.lease import leased
from attnjax.lab.runs.result import read_result
from attnjax.lab.runs.run_folder import RunStatus
from attnjax.lab.sweeps.found import Found
from attnjax.lab.sweeps.plan import resolve
from attnjax.lab.sweeps.request import Request
from attnjax.lab.sweeps.sweep import sweep

TINY = Path(__file__).parents[1] / "tiny.py"
STEPS = ["--training.steps", "1"]


def asked(runs: Path, *, seeds: int = 1, steps: int = 1) -> Request:
    return Request(
        loaded=load(TINY),
        variants=("scaled",),
        seeds=seeds,
        folder=runs / "tiny",
        overrides=tuple(split(["--training.steps", str(steps)])[1]),
    )


def statuses(request: Request) -> list[RunStatus]:
    """Return the status of each run that is asked for."""
    found = Found(resolve(request))
    (variant,) = found.variants()
    return [*map(found.status, variant.seeds)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """Return the folder of runs with one finished run."""
    runs = tmp_path_factory.mktemp("runs")
    words = ["--variant", "scaled", "--seeds", "1", *STEPS]
    assert main(["run", str(TINY), "--runs", str(runs), *words]) == 0
    return runs


@pytest.fixture
def runs(trained, tmp_path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "runs"))


def test_the_status_is_what_the_folder_has(runs):
    folder, request = runs / "tiny" / "scaled" / "seed-0", asked(runs)
    assert statuses(request) == [RunStatus("done")]
    result = read_result(folder)
    assert (result.seed, result.step) == (0, 1)
    assert statuses(asked(runs, steps=2)) == [RunStatus("begun", 1)]
    (folder / "result.json").unlink()
    assert statuses(request) == [RunStatus("begun", 1)]
    failures.record(folder, UserError("no angle"))
    assert statuses(request) == [RunStatus("failed", 1, "no angle")]
    with leased([folder]):
        (running,) = statuses(request)
    assert (running.state, running.step) == ("running", 1)
    assert statuses(asked(runs, seeds=2))[1] == RunStatus("missing")


def test_a_result_that_changes_is_verified_again(runs):
    found = Found(resolve(asked(runs)))
    (run,) = found.variants()[0].seeds
    result = found.result(run)
    assert result is not None
    (run.folder / "hypotheses.txt").write_text("1 2 3\n")
    run_folder.write_sealed(run.folder / "result.json", replace(result, seconds=9.0).record())
    assert found.result(run) == result, "it is read once"
    found.forget([run.folder])
    with pytest.raises(UserError, match=r"hypotheses.txt is damaged"):
        found.result(run)


def test_a_sweep_hashes_the_files_of_a_finished_run_once(runs, monkeypatch):
    hashed, digest = Counter[Path](), run_folder.file_digest

    def counted(path: Path) -> str:
        hashed[path] += 1
        return digest(path)

    monkeypatch.setattr(run_folder, "file_digest", counted)
    assert sweep(asked(runs, seeds=2), Console(quiet=True)) == {}
    finished = runs / "tiny" / "scaled" / "seed-0"
    counts = {path.name: count for path, count in hashed.items() if path.parent == finished}
    names = ["config.json", "metrics.jsonl", "hypotheses.txt", "references.json", "sentences.json"]
    assert counts == dict.fromkeys([*names, "attention.json"], 1)
