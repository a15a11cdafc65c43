"""Records stand in for runs: what fits is shown and judged, and not trained again."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import attnjax
from attnjax.config.override import split
from attnjax.config.sealed import sealed
from attnjax.config.serialize import to_json
from attnjax.config.vary import vary
from attnjax.data.loaded import Corpora
from attnjax.errors import UserError
from attnjax.experiment import Claim, Difference
from attnjax.experiment.design import tuning_digest
from attnjax.experiment.load import ExperimentFile, load
from attnjax.lab.cli.main import main
from attnjax.lab.reporting.table import plain
from attnjax.lab.results.fit import fitting
from attnjax.lab.results.folder import summarize
from attnjax.lab.results.lines import read_records, write
from attnjax.lab.results.read import read_runs, recordings, settings_digest
from attnjax.lab.results.record import Record
from attnjax.lab.runs.versions import Machine, machine
from attnjax.lab.sweeps.checks import compared
from attnjax.lab.sweeps.found import Found
from attnjax.lab.sweeps.plan import resolve
from attnjax.lab.sweeps.recorded import of_records
from attnjax.lab.sweeps.request import Request

TINY = Path(__file__).parents[1] / "tiny.py"
NOW = "2026-11-24T06:00:00+00:00"
RATE = "optimizer.schedule.value"

MINE = """

from dataclasses import replace

from attnjax.experiment import Difference

faster = vary(base, {"optimizer.schedule.value": 2e-2})
mine = Claim(text="Faster.", estimand=Difference("exact_match", "mine", "scaled"), low=-1.0)
ablation = replace(ablation, variants={**ablation.variants, "mine": faster}, claims=(mine,))
"""


@pytest.fixture(scope="module")
def folder(tiny_runs, tmp_path_factory) -> Path:
    """The folder of the records of both variants of the tiny file, of both seeds."""
    folder = tmp_path_factory.mktemp("records")
    write(recordings(read_runs(tiny_runs / "tiny"), load(TINY), NOW), folder)
    return folder


@pytest.fixture(scope="module")
def records(folder) -> list[Record]:
    return read_records(folder)


@pytest.fixture
def path(tmp_path) -> Path:
    """A file with a variant of its own beside those of the tiny file."""
    path = tmp_path / "mine.py"
    path.write_text(TINY.read_text() + MINE)
    return path


def asked(records: Sequence[Record], folder: Path, loaded: ExperimentFile, *words: str) -> Request:
    overrides = tuple(split(words)[1])
    return Request(loaded=loaded, folder=folder, overrides=overrides, records=tuple(records))


def plan(records: Sequence[Record], folder: Path, loaded: ExperimentFile, *words: str) -> Found:
    return Found(resolve(asked(records, folder, loaded, *words)))


def compared_with_data(records: Sequence[Record], folder: Path) -> Found:
    planned = resolve(asked(records, folder, load(TINY)))
    return Found(planned, compared(planned, Corpora()))


def left(found: Found) -> dict[str, list[int]]:
    """The seeds of each variant that are to be trained."""
    return {
        variant.name: [run.seed for run in found.unfinished(variant.judged)]
        for variant in found.variants()
    }


def said(found: Found) -> dict[str, list[str]]:
    return {variant.name: [*of_records(variant, found)] for variant in found.variants()}


def grid(loaded: ExperimentFile, *rates: float) -> ExperimentFile:
    return replace(loaded, ablation=replace(loaded.ablation, tune={RATE: rates}))


def tuned(record: Record, rate: float, loaded: ExperimentFile, **values: Any) -> Record:
    """A record as if its variant had been tuned over the file's grid."""
    settings = to_json(loaded.ablation.variants[record.variant], loaded.own)
    digest = settings_digest(settings, (RATE,))
    return replace(record, tuned={RATE: rate}, settings=digest, **values)


def test_an_own_variant_trains_alone_and_is_judged_beside_records(path, folder, tmp_path, capsys):
    runs = tmp_path / "runs"
    words = ["run", str(path), "--records", str(folder), "--runs", str(runs)]
    assert main([*words, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "recorded: 0, 1" in printed
    assert "2 of 6 runs are to be trained; 4 are recorded" in printed
    assert "mine: no record has its settings and data" in printed
    assert not runs.exists()
    assert main(words) == 0
    assert [made.parent.name for made in runs.glob("mine/*/seed-0")] == ["mine"]
    printed, logged = capsys.readouterr()
    assert "scaled, cosine: 2 of 2 runs recorded, by commit " in logged
    assert "recorded, not trained here: scaled; cosine, by commit " in " ".join(printed.split())
    rows = [line.split()[0] for line in printed.splitlines() if line.strip()]
    assert {"scaled", "cosine", "mine"} <= {*rows}
    assert " Faster." in printed
    summary = json.loads((runs / "mine" / "summary.json").read_text())
    assert summary["claims"][0]["verdict"] == "undecided", "of two seeds"
    assert [len(row["recorded"]) for row in summary["rows"]] == [2, 2, 0]
    assert f"--records {folder}" in summary["command"]
    # nothing is left, and nothing is trained again
    assert main(words) == 0
    assert "mine: 2 of 2 runs are there already" in capsys.readouterr().err
    # without the records their rows are not there
    assert main(["report", str(runs / "mine")]) == 0
    assert "recorded" not in capsys.readouterr().out
    assert main(["report", str(runs / "mine"), "--records", str(folder)]) == 0
    assert "recorded, not trained here" in capsys.readouterr().out


def test_a_program_shows_what_is_recorded_and_trains_nothing(
    tmp_path, folder, records, monkeypatch
):
    """The default is the folder `records`, where there is one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "records").symlink_to(folder)
    base = load(TINY).ablation.base
    ablation = replace(load(TINY).ablation, variants={"scaled": base}, claims=(), published=())
    (row,) = attnjax.run(ablation, records=True).rows
    assert row.seeds == (0, 1)
    assert [record.metrics for record in row.records] == [
        record.metrics for record in records if record.variant == "scaled"
    ]
    assert not [*Path("runs").glob("**/result.json")]


def test_changed_settings_of_a_recorded_variant_are_trained_and_said(records, tmp_path):
    loaded = load(TINY)
    assert left(plan(records, tmp_path, loaded)) == {"scaled": [], "cosine": []}
    longer = vary(loaded.ablation.variants["scaled"], {"training.steps": 9})
    variants = {**loaded.ablation.variants, "scaled": longer}
    changed = replace(loaded, ablation=replace(loaded.ablation, variants=variants))
    of_file = plan(records, tmp_path, changed)
    assert left(of_file) == {"scaled": [0, 1], "cosine": []}
    assert said(of_file)["scaled"] == ["2 records are not taken: of other settings"]
    by_hand = plan(records, tmp_path, loaded, "--training.steps", "9")
    assert left(by_hand) == {"scaled": [0, 1], "cosine": [0, 1]}
    assert "other settings than the command line's" in said(by_hand)["cosine"][0]
    # what belongs to the machine alone changes no result
    assert left(plan(records, tmp_path, loaded, "--training.parallel", "pmap"))["scaled"] == []


def test_seeds_without_a_record_are_trained(records, tmp_path):
    some = [record for record in records if record.seed == 0]
    assert left(plan(some, tmp_path, load(TINY))) == {"scaled": [1], "cosine": [1]}
    other = replace(load(TINY).ablation, first_seed=1)
    moved = plan(some, tmp_path, replace(load(TINY), ablation=other))
    assert left(moved) == {"scaled": [1, 2], "cosine": [1, 2]}
    assert said(moved)["scaled"] == ["1 record is not taken: of other seeds"]


def test_records_of_other_data_are_not_taken(records, tmp_path):
    other = [
        replace(record, data={**record.data, "train": "0" * 16})
        if record.variant == "scaled"
        else record
        for record in records
    ]
    with_data = compared_with_data(other, tmp_path)
    assert left(with_data) == {"scaled": [0, 1], "cosine": []}
    assert said(with_data)["scaled"] == [
        "2 records are not taken: of other data: the train split differs"
    ]
    assert left(compared_with_data(records, tmp_path))["scaled"] == []


def test_a_part_of_ones_own_wants_its_text(records, path, tmp_path):
    text = path.read_text()
    path.write_text(text.replace("return self.sharpness *", "return 1.0 * self.sharpness *"))
    changed = plan(records, tmp_path, load(path))
    assert left(changed) == {"scaled": [], "cosine": [0, 1], "mine": [0, 1]}
    assert said(changed)["cosine"] == [
        "2 records are not taken: of another text of the file's own parts"
    ]
    path.write_text(
        text.replace("    sharpness: float = 5.0", "    sharpness: float = 5.0  # as is")
    )
    assert left(plan(records, tmp_path, load(path)))["cosine"] == []
    without = [replace(record, parts=None) for record in records]
    older = plan(without, tmp_path, load(TINY))
    assert left(older) == {"scaled": [], "cosine": [0, 1]}
    assert "whose text they do not have" in said(older)["cosine"][0]


def test_records_of_this_machine_go_first_and_others_are_named(records, tiny_runs, tmp_path):
    place = Machine(kind="h100-1", processor="", cores=1, xla_flags="")
    other = [replace(record, machine=place, recorded=NOW + "1") for record in records]
    kinds = {
        record.kind for record in plan([*other, *records], tmp_path, load(TINY)).stand_ins.records
    }
    assert kinds == {machine().kind}
    here = Path(tmp_path / "tiny")
    here.mkdir()
    (here / "scaled").symlink_to(tiny_runs / "tiny" / "scaled")
    claim = Claim(text="D.", estimand=Difference("exact_match", "cosine", "scaled"), low=-1.0)
    loaded = replace(load(TINY), ablation=replace(load(TINY).ablation, claims=(claim,)))
    summary = summarize(here, loaded, records=other)
    assert [row.variant for row in summary.rows] == ["scaled", "cosine"]
    assert [record.kind for record in summary.rows[1].records] == ["h100-1"] * 2
    assert len(summary.rows[0].records) == 2, "a run here has no stand-in"
    assert [claim.machine for claim in summary.claims] == [""]
    printed = plain(summary)
    assert "recorded, not trained here: cosine, by commit" in printed
    assert "on h100-1\n" in printed
    assert f"runs here are on {machine().kind}: machines of other kinds round otherwise" in printed


def test_a_tuned_variant_is_not_tuned_again(records, tmp_path):
    """Seeds that are not recorded are trained at the recorded choice, and so are tied ones."""
    loaded = grid(load(TINY), 0.01, 0.02)
    first = [record for record in records if record.seed == 0]
    chosen = [tuned(record, 0.02, loaded) for record in first]
    tied = [tuned(record, 0.01, loaded, tied=True) for record in first]
    some = plan([*chosen, *tied], tmp_path, loaded)
    scaled, cosine = some.variants()
    assert (scaled.tuning, cosine.tuning) == ([], [])
    assert scaled.choice == [{RATE: 0.02}, {RATE: 0.01}]
    waiting = some.unfinished(scaled.judged)
    assert [(run.manifest.seed, run.manifest.tuned) for run in waiting] == [(1, (RATE,))] * 2
    rates = [run.manifest.settings["optimizer"]["schedule"]["value"] for run in waiting]
    assert rates == [0.02, 0.01]
    assert [run.folder.parent.name for run in waiting] == ["scaled", f"{RATE}=0.01"]
    assert said(some)["scaled"][0].endswith(f" on {machine().kind}, tuned to 0.02")
    # a value of the command line is not tuned, so that no tuned record fits
    given = plan(chosen, tmp_path, loaded, f"--{RATE}", "0.02")
    assert left(given) == {"scaled": [0, 1], "cosine": [0, 1]}


def test_the_grid_has_to_be_that_of_the_record(records, tmp_path):
    loaded = grid(load(TINY), 0.01, 0.02)
    digest = tuning_digest(loaded.ablation)
    exact = [tuned(record, 0.02, loaded, grid=digest) for record in records]
    assert left(plan(exact, tmp_path, loaded)) == {"scaled": [], "cosine": []}
    # one value beyond the end belongs to a grid that was made longer
    longer = [tuned(record, 0.04, loaded, grid=digest) for record in records]
    assert left(plan(longer, tmp_path, loaded))["scaled"] == []
    for other in (
        [tuned(record, 0.02, loaded, grid="0" * 8) for record in records],
        [tuned(record, 0.08, loaded) for record in records],
    ):
        refused = plan(other, tmp_path, loaded)
        assert left(refused) == {"scaled": [0, 1], "cosine": [0, 1]}
        assert "2 records are not taken: tuned over another grid" in said(refused)["scaled"][0]
        assert all(variant.tuning for variant in refused.variants())
        # nor does a judge count them beside those of the grid
        assert fitting(loaded, [*exact, *other]) == exact


def test_runs_that_others_begin_with_are_trained_here(records, tmp_path):
    loaded = load(TINY)
    variants = dict(loaded.ablation.variants)
    variants["after"] = vary(variants["scaled"], {"initial_parameters_from": "tiny/scaled"})
    after = replace(loaded, ablation=replace(loaded.ablation, variants=variants))
    begins = plan(records, tmp_path / "tiny", after)
    assert left(begins) == {"scaled": [0, 1], "cosine": [], "after": [0, 1]}
    assert "other runs begin with" in said(begins)["scaled"][0]
    settings = settings_digest(to_json(variants["after"]), ())
    own = [replace(record, settings=settings) for record in records if record.variant == "scaled"]
    with_own = plan(own, tmp_path / "tiny", after)
    assert left(with_own)["after"] == [0, 1]
    assert "began with another run's" in said(with_own)["after"][0]


def test_damage_is_one_sentence_and_nothing_of_a_record_is_executed(
    path, folder, records, tmp_path, capsys
):
    copy = tmp_path / "records"
    write(records[:1], copy)
    file = copy / records[0].file_name
    whole = json.loads(file.read_text())
    del whole["digest"]
    words = ["run", str(path), "--dry-run", "--records", str(copy), "--runs", str(tmp_path / "r")]
    file.write_text(file.read_text()[:-40])
    capsys.readouterr()
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(f"attnjax: {file}, line 1 is damaged: ")
    for name in ("os.system", "attnjax.__main__.main", "attnjax.files.write_atomically"):
        hostile = {**whole, "answers": {**whole["answers"], "metric": {"type": name}}}
        file.write_text(json.dumps(sealed(hostile)))
        with pytest.raises(UserError, match="which is no part of attnjax"):
            summarize(tmp_path / "r", load(path), records=read_records(copy))
    assert main(["run", str(path), "--records", str(tmp_path / "none")]) == 2
    assert "none holds no records" in capsys.readouterr().err


def test_shipped_records_count_beside_those_of_the_current_folder(
    folder, path, tmp_path, monkeypatch, capsys
):
    """`attnjax record runs/mine` makes ./records, which must not hide them."""
    monkeypatch.setattr("attnjax.lab.runs.catalog.shipped_records", lambda: folder)
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(path), "--records"]) == 0
    assert main(["record", str(tmp_path / "runs" / "mine")]) == 0
    assert [file.name for file in (tmp_path / "records").glob("*.jsonl")] == ["mine.jsonl"]
    shutil.rmtree(tmp_path / "runs")
    capsys.readouterr()
    assert main(["run", str(path), "--records", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "0 of 6 runs are to be trained" in said
    assert main(["run", str(path), "--records", str(folder), "--dry-run"]) == 0
    assert "2 of 6 runs are to be trained" in capsys.readouterr().out
