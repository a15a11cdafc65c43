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
from attnjax.lab.runs.manifest import Manifest
from attnjax.lab.runs.result import read_result
from attnjax.lab.runs.run_folder import RunStatus, status
from attnjax.lab.sweeps.plan import Sweep
from attnjax.lab.sweeps.sweep import sweep

TINY = Path(__file__).parents[1] / "tiny.py"
STEPS = ["--training.steps", "1"]


def plan(runs: Path, *, seeds: int = 1) -> Sweep:
    return Sweep(
        loaded=load(TINY),
        variants=("scaled",),
        seeds=seeds,
        folder=runs / "tiny",
        overrides=tuple(split(STEPS)[1]),
    )


def planned(runs: Path) -> tuple[Path, Manifest]:
    """Return the folder and the manifest of the only run of the plan."""
    (variant,) = plan(runs).planned()
    (run,) = variant.seeds
    return run.folder, run.manifest


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
    folder, wanted = planned(runs)
    assert status(folder, wanted, {}) == RunStatus("done")
    result = read_result(folder)
    assert (result.seed, result.step) == (0, 1)
    settings = {**wanted.settings, "training": {**wanted.settings["training"], "steps": 2}}
    assert status(folder, replace(wanted, settings=settings), {}) == RunStatus("begun", 1)
    (folder / "result.json").unlink()
    assert status(folder, wanted, {}) == RunStatus("begun", 1)
    failures.record(folder, UserError("no angle"))
    assert status(folder, wanted, {}) == RunStatus("failed", 1, "no angle")
    with leased([folder]):
        running = status(folder, wanted, {})
    assert (running.state, running.step) == ("running", 1)
    assert status(folder.with_name("seed-1"), wanted, {}) == RunStatus("missing")


def test_a_result_that_changes_is_verified_again(runs):
    folder, wanted = planned(runs)
    verified: run_folder.Verified = {}
    assert status(folder, wanted, verified) == RunStatus("done")
    (folder / "hypotheses.txt").write_text("1 2 3\n")
    result = verified[folder]
    run_folder.write_sealed(folder / "result.json", replace(result, seconds=9.0).record())
    with pytest.raises(UserError, match=r"hypotheses.txt is damaged"):
        status(folder, wanted, verified)


def test_a_sweep_hashes_the_files_of_a_finished_run_once(runs, monkeypatch):
    hashed, digest = Counter[Path](), run_folder.file_digest

    def counted(path: Path) -> str:
        hashed[path] += 1
        return digest(path)

    monkeypatch.setattr(run_folder, "file_digest", counted)
    assert sweep(plan(runs, seeds=2), Console(quiet=True)) == {}
    finished = runs / "tiny" / "scaled" / "seed-0"
    counts = {path.name: count for path, count in hashed.items() if path.parent == finished}
    names = ["config.json", "metrics.jsonl", "hypotheses.txt", "references.json", "sentences.json"]
    assert counts == dict.fromkeys([*names, "attention.json"], 1)
