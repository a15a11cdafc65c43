"""`attnjax run --dry-run` says what would be run, and writes nothing."""

import os
import shutil
from pathlib import Path

import pytest

from attnjax.data import preparation
from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.runs import failures
from attnjax.lab.runs.lease import leased
from attnjax.lab.runs.run_folder import RunStatus
from attnjax.lab.sweeps.dry_run import dry_run
from attnjax.lab.sweeps.plan import Plan, resolve
from attnjax.lab.sweeps.request import Request

pytestmark = pytest.mark.long

TINY = Path(__file__).parents[1] / "tiny.py"


def planned(folder: Path, *, seeds: int = 3) -> Plan:
    return resolve(Request(loaded=load(TINY), seeds=seeds, folder=folder))


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Of the variant scaled: seed 0 finished, seed 1 interrupted at its last step."""
    folder = tmp_path_factory.mktemp("runs")
    words = ["run", str(TINY), "--runs", str(folder), "--variant", "scaled"]
    assert main([*words, "--seeds", "2"]) == 0
    (folder / "tiny" / "scaled" / "seed-1" / "result.json").unlink()
    return folder


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_every_state_is_told(runs, tmp_path):
    folder = Path(shutil.copytree(runs, tmp_path / "runs")) / "tiny"
    before = contents(folder)
    scaled, cosine = dry_run(planned(folder))
    assert contents(folder) == before
    assert not (folder / "cosine").exists()
    assert (scaled.name, scaled.steps) == ("scaled", 6)
    missing = RunStatus("missing")
    assert scaled.runs == {0: RunStatus("done"), 1: RunStatus("begun", 6), 2: missing}
    assert cosine.runs == dict.fromkeys(range(3), missing)
    assert scaled.failure is None
    assert cosine.seconds is None
    failures.record(folder / "cosine", ValueError("no angle"))
    failures.record(folder / "scaled" / "seed-1", ValueError("no scale"))
    with leased([folder / "scaled" / "seed-2", folder / "cosine" / "seed-1"]):
        scaled, cosine = dry_run(planned(folder))
    assert cosine.failure == "ValueError: no angle"
    assert [run.state for run in cosine.runs.values()] == ["missing", "running", "missing"]
    assert [run.state for run in scaled.runs.values()] == ["done", "failed", "running"]
    assert scaled.runs[1] == RunStatus("failed", 6, "ValueError: no scale")
    assert f"process {os.getpid()} of " in scaled.runs[2].detail


def test_the_estimate_is_the_logged_time_of_the_missing_steps(runs):
    (scaled, _) = dry_run(planned(runs / "tiny"))
    (more, _) = dry_run(planned(runs / "tiny", seeds=4))
    assert scaled.seconds is not None
    assert scaled.seconds > 0
    assert more.seconds == pytest.approx(2 * scaled.seconds)


def test_costs_are_those_of_the_variant(runs):
    (scaled, _) = dry_run(planned(runs / "tiny"))
    corpus = load(TINY).ablation.base.task.load()
    batching = load(TINY).ablation.base.training.batching
    symbols = sum(len(example.target) for example in corpus.splits["train"])
    assert scaled.costs is not None
    assert scaled.costs.training.tokens == symbols / batching.plan(corpus.splits["train"]).per_epoch
    assert scaled.costs.parameters == 10 * 16 + 3 * 4 * 16**2 + 2 * (2 * 16**2 + 32) + 5 * 32
    assert scaled.costs.training.flops > 2 * 3 * scaled.costs.parameters


def test_the_command_prints_a_row_for_each_variant(runs, capsys):
    capsys.readouterr()
    command = ["run", str(TINY), "--runs", str(runs), "--dry-run", "--seeds", "3"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "interrupted at step 6: 1" in printed
    assert "5 of 6 runs are to be trained" in printed
    assert "the time of cosine is unknown, because no such run was trained here" in printed


def test_single_seeds_are_chosen_out_of_all(runs, capsys):
    capsys.readouterr()
    words = ["run", str(TINY), "--runs", str(runs), "--dry-run", "--variant", "scaled"]
    assert main([*words, "--seeds", "4", "--seed", "3", "--seed", "0", "--seed", "3"]) == 0
    printed = capsys.readouterr().out
    assert "done: 0 " in printed
    assert "missing: 3 " in printed
    assert "1 of 2 runs are to be trained" in printed
    assert main([*words, "--seed", "2"]) == 2
    said = capsys.readouterr().err
    assert "there is no seed 2: each variant has the seeds 0 to 1; --seeds gives it more" in said


def test_data_that_are_not_read_are_named(tmp_path, monkeypatch, capsys):
    """They are missing, or so large that they would be prepared, which takes long and writes."""
    text = TINY.read_text().replace("Copy(symbols=6, longest=4, train=48, valid=8, test=8)", "{}")
    text = text.replace("{}", 'ParallelText(folder="pairs")')
    text = text.replace("import Copy", "import Copy\nfrom attnjax.data import ParallelText")
    (tmp_path / "pairs.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTNJAX_PREPARED", str(tmp_path / "prepared"))
    words = ["run", "pairs.py", "--dry-run"]
    assert main(words) == 0
    assert (
        "the data are not read, so nothing is checked against them: there is no folder pairs"
        in (capsys.readouterr().out)
    )
    (tmp_path / "pairs").mkdir()
    for name in ("train", "valid", "test"):
        for side in ("en", "de"):
            (tmp_path / "pairs" / f"{name}.{side}").write_text(f"{name} a b\n")
    monkeypatch.setattr(preparation, "LARGE", 10)
    assert main(words) == 0
    printed = capsys.readouterr()
    assert "the corpus is large, and is prepared at its first use" in printed.out
    assert "prepares" not in printed.err
    assert not (tmp_path / "prepared").exists()
