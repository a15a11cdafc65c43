"""Which seeds train together, after whatever a killed process has left."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.runs.json_files import write_sealed
from attnjax.lab.runs.manifest import read
from attnjax.lab.sweeps import division
from attnjax.lab.sweeps.division import seed_groups
from attnjax.lab.sweeps.plan import RunSpec, VariantPlan
from attnjax.lab.sweeps.request import Request
from attnjax.training.train_setup import TrainSetup

TINY = Path(__file__).parents[1] / "tiny.py"
LOADED = load(TINY)


@pytest.fixture
def runs(tmp_path) -> list[RunSpec]:
    """Four runs that were never begun."""
    request = Request(loaded=LOADED, seeds=4, folder=tmp_path)
    experiment = LOADED.ablation.variants["scaled"]
    planned = VariantPlan(request=request, name="scaled", experiment=experiment).seeds({})
    return [replace(run, folder=tmp_path / run.folder.name) for run in planned]


def claim(runs: list[RunSpec], together: tuple[str, ...], *, saved: tuple[str, ...]) -> None:
    """Write the manifests of a group, and a checkpoint of some of its runs."""
    for run in runs:
        if run.folder.name in together:
            run.folder.mkdir()
            content = asdict(replace(run.manifest, together=together))
            write_sealed(run.folder / "config.json", content)
        if run.folder.name in saved:
            (run.folder / "checkpoints" / "4").mkdir(parents=True)


def names(runs: list[RunSpec], together: int) -> list[list[str]]:
    divided = seed_groups(runs, runs, together)
    for group in divided:
        assert len({run.manifest.together for run in group}) == 1
    return [[run.folder.name for run in group] for group in divided]


def test_new_runs_are_divided_by_their_places(runs):
    assert names(runs, 3) == [["seed-0", "seed-1", "seed-2"], ["seed-3"]]


@pytest.mark.parametrize("saved", [("seed-0",), ("seed-1",), ("seed-0", "seed-1")])
def test_a_group_that_has_begun_stays_whole(runs, saved):
    claim(runs, ("seed-0", "seed-1"), saved=saved)
    for together in (1, 4):
        assert names(runs, together)[0] == ["seed-0", "seed-1"]


def test_a_group_of_which_nothing_is_saved_is_divided_anew(runs):
    claim(runs, ("seed-0", "seed-1"), saved=())
    assert names(runs, 4) == [["seed-0", "seed-1", "seed-2", "seed-3"]]


def test_a_run_whose_manifest_cannot_be_read_is_new(runs):
    claim(runs, ("seed-0", "seed-1"), saved=("seed-0",))
    (runs[1].folder / "config.json").write_text("{")
    assert names(runs, 1) == [["seed-0"], ["seed-1"], ["seed-2"], ["seed-3"]]


def test_data_are_cut_into_batches_once_for_all_variants_and_groups(tmp_path, monkeypatch):
    made, of = [], TrainSetup.of

    def counted(recipe, corpus):
        made.append(of(recipe, corpus))
        return made[-1]

    monkeypatch.setattr(TrainSetup, "of", counted)
    words = ["--seeds", "2", "--together", "1", "--training.steps", "1"]
    assert main(["run", str(TINY), "--runs", str(tmp_path), *words]) == 0
    assert len([*tmp_path.glob("tiny/*/*/result.json")]) == 4
    assert len(made) == 1


@pytest.mark.parametrize(("most", "size"), [(0, 1), (1e12, 2)])
def test_a_cpu_trains_large_updates_one_seed_after_the_other(
    tmp_path, monkeypatch, capsys, most, size
):
    monkeypatch.setattr(division, "ALONE", most)
    words = ["--variant", "scaled", "--seeds", "2", "--training.steps", "1"]
    assert main(["run", str(TINY), "--runs", str(tmp_path), *words]) == 0
    folders = [*tmp_path.glob("tiny/scaled/seed-*")]
    assert [len(read(folder).together) for folder in folders] == [size, size]
    assert ("one after the other" in capsys.readouterr().err) == (size == 1)
