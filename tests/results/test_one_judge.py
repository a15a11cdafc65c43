"""The same runs, once in their folders and once recorded, are judged alike."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attnjax.config.vary import vary
from attnjax.experiment import Claim, Difference, Published, Value
from attnjax.experiment.design import claim_digest
from attnjax.experiment.load import ExperimentFile, load
from attnjax.experiment.tuning import point_name
from attnjax.lab.reporting.series import by_length, mechanism
from attnjax.lab.results.judging import judge
from attnjax.lab.results.lines import read_records, write
from attnjax.lab.results.read import read_runs, recordings
from attnjax.lab.results.record import Record
from attnjax.lab.results.summary import Row, Summary
from attnjax.lab.runs.json_files import read_sealed
from attnjax.lab.runs.versions import machine
from attnjax.lab.trained.attention import keep_attention
from tests.runs.hostile import resealed

TINY = Path(__file__).parents[1] / "tiny.py"
RATE = "optimizer.schedule.value"
NOW = "2026-11-24T06:00:00+00:00"


@pytest.fixture(scope="module")
def runs(tiny_runs, loaded, tmp_path_factory) -> Path:
    """The runs of the tiny file as if a rate had been tuned, of `scaled` one that is tied."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    without = shutil.ignore_patterns("checkpoints", "events.*")
    shutil.copytree(tiny_runs / "tiny", folder, ignore=without)
    first = tiny_runs / "tiny" / "scaled" / "seed-0"
    for rate, losses in ((0.01, (0.5, 0.5)), (0.02, (0.4, 0.7))):
        for seed, loss in enumerate(losses, start=1_000_000):
            run = folder / "scaled" / "tune" / point_name({RATE: rate}) / f"seed-{seed}"
            shutil.copytree(first, run, ignore=without)
            changed(run, "config.json", seed=seed, settings=settings(run, rate))
            changed(run, "result.json", seed=seed, best_validation_loss=loss)
    claims = [claim_digest(claim, loaded.own) for claim in loaded.ablation.claims]
    for seed in (0, 1):
        chosen = folder / "scaled" / f"seed-{seed}"
        for run in (chosen, folder / "cosine" / f"seed-{seed}"):
            changed(run, "config.json", tuned=[RATE], claims=claims)
        run = folder / "scaled" / "tied" / point_name({RATE: 0.02}) / f"seed-{seed}"
        shutil.copytree(chosen, run)
        changed(run, "config.json", settings=settings(run, 0.02))
    return folder


def changed(run: Path, file: str, **values: Any) -> None:
    resealed(run / file, **values)


def settings(run: Path, rate: float) -> dict[str, Any]:
    settings = read_sealed(run / "config.json")["settings"]
    settings["optimizer"]["schedule"]["value"] = rate
    return settings


@pytest.fixture(scope="module")
def loaded() -> ExperimentFile:
    """The file with a grid, claims by seed and by pairs, one of nothing, and papers' figures."""
    loaded = load(TINY)
    claims = (
        Claim(text="It is a share.", estimand=Value("exact_match", "scaled"), low=-1.0),
        Claim(text="They differ.", estimand=Difference("exact_match", "cosine", "scaled"), low=0.5),
        Claim(text="It sings.", estimand=Value("tone", "scaled"), low=0.5),
    )
    figure = Published(
        paper="A", table="1", variant="cosine", metric="exact_match", value=0.5, source="s"
    )
    ablation = replace(
        loaded.ablation,
        seeds=2,
        claims=claims,
        published=(figure, replace(figure, why_not="another corpus")),
        tune={RATE: (0.01, 0.02)},
        tune_seeds=2,
    )
    return replace(loaded, ablation=ablation)


@pytest.fixture(scope="module")
def records(runs, loaded, tmp_path_factory) -> list[Record]:
    to = tmp_path_factory.mktemp("records")
    made = recordings(read_runs(runs), loaded, NOW)
    assert write(made, to) == made
    return read_records(to)


def numbers(summary: Summary) -> list[Row]:
    """The rows without their records."""
    return [replace(row, records=()) for row in summary.rows]


def test_runs_and_their_records_are_judged_alike(runs, loaded, records):
    assert {record.stage for record in read_runs(runs)} == {"chosen", "tied", "tuning"}
    assert len(records) == 6, "those that tune are not recorded"
    ours, theirs = judge(loaded, read_runs(runs)), judge(loaded, records)
    assert ours.judged == theirs.judged
    kind = machine().kind
    assert [[*claim.rows] for claim in ours.judged] == [[kind], [kind], []]
    assert [claim.combinations for claim in ours.claims] == [2, 2], "at tied values, too"
    assert [claim.machine for claim in ours.claims] == ["", ""], "there is one kind"
    assert ours.left_out == theirs.left_out
    assert numbers(ours) == numbers(theirs)
    for mine, other in zip(ours.rows, theirs.rows, strict=True):
        assert mine.seeds == other.seeds == (0, 1)
        assert (mine.parameters, mine.test_set) == (other.parameters, other.test_set)
        # of a record's minutes two digits are kept
        assert mine.seconds == pytest.approx(other.seconds, abs=0.3 * len(mine.seeds))
    assert ours.published == theirs.published
    assert [figure.ours is None for figure in ours.published] == [False, True]
    assert by_length(ours) == by_length(theirs) != []
    assert mechanism(ours) == mechanism(theirs)
    assert (ours.fields, ours.meanings, ours.environment) == (
        theirs.fields,
        theirs.meanings,
        theirs.environment,
    )
    assert len(ours.tied) == len(theirs.tied) == 2
    assert (ours.earlier, theirs.earlier) == ((), ())


def test_a_run_that_is_not_finished_has_no_record(runs, tmp_path):
    begun = shutil.copytree(runs / "cosine" / "seed-0", tmp_path / "cosine" / "seed-0")
    assert len(read_runs(tmp_path)) == 1
    (begun / "result.json").unlink()
    assert read_runs(tmp_path) == []


def test_more_pictures_of_a_run_leave_its_record_as_it_was(tiny_runs, loaded, tmp_path):
    """`report --sentences` changes the digests in result.json, and no number."""
    run = tmp_path / "tiny" / "cosine" / "seed-0"
    shutil.copytree(tiny_runs / "tiny" / "cosine" / "seed-0", run)

    def made() -> Record:
        (made,) = recordings(read_runs(tmp_path / "tiny"), loaded, NOW)
        return made

    before = made()
    write([before], tmp_path / "records")
    keep_attention(run, 7)
    assert made().files != before.files
    assert write([made()], tmp_path / "records") == []
    assert read_records(tmp_path / "records") == [before]


def test_the_choice_is_read_from_the_runs_that_tune(runs, loaded):
    tuning, _ = judge(loaded, read_runs(runs)).tunings
    assert (tuning.variant, tuning.seeds) == ("scaled", (1_000_000, 1_000_001))
    assert (tuning.chosen, tuning.tied) == ((0.01,), [(0.02,)])
    assert [point.losses for point in tuning.points] == [(0.5, 0.5), (0.4, 0.7)]
    # an unfinished point ties nothing, so nothing is judged at it
    left = [record for record in read_runs(runs) if (record.stage, record.loss) != ("tuning", 0.7)]
    summary = judge(loaded, left)
    assert summary.tunings[0].points[1].losses == ()
    assert [claim.combinations for claim in summary.claims] == [1, 1]


def test_records_stand_beside_runs_and_count_once(runs, loaded, records):
    """Those of runs that are there change nothing; the others say where they are from."""
    alone, mixed = judge(loaded, read_runs(runs)), judge(loaded, read_runs(runs) + records)
    assert mixed.judged == alone.judged
    assert mixed.rows == alone.rows
    assert all(record.run is not None for record in mixed.records)
    some = [record for record in read_runs(runs) if record.variant == "scaled"]
    filled = judge(loaded, some + records)
    assert filled.judged == alone.judged
    scaled, cosine = filled.rows
    assert [record.run is None for record in (*scaled.records, *cosine.records)] == [
        *(False, False),
        *(True, True),
    ]
    assert cosine.records[0].where.endswith(f", {machine().kind}")
    assert ".jsonl, line 1, commit " in cosine.records[0].where


def test_a_record_of_other_settings_or_data_is_not_judged_beside_runs(runs, loaded, records):
    of_cosine = [record for record in records if record.variant == "cosine"]
    some = [record for record in read_runs(runs) if record.variant == "scaled"]
    other = [replace(record, settings="0" * 8) for record in of_cosine]
    summary = judge(loaded, some + other)
    assert [row.variant for row in summary.rows] == ["scaled"]
    assert summary.earlier == tuple(other)
    assert summary.judged[1].absent == ("cosine",)


def test_a_longer_training_counts_in_a_folder_and_says_so(runs, loaded):
    """A run's folder says in what it differs; it is judged, and the change is shown."""
    longer = {
        name: vary(of, {"training.steps": 9}) for name, of in loaded.ablation.variants.items()
    }
    planned = replace(loaded, ablation=replace(loaded.ablation, variants=longer))
    summary = judge(planned, read_runs(runs))
    assert [(change.path, change.file, change.run) for change in summary.changes] == [
        ("training.steps", "9", "6"),
    ]
    assert {claim.verdict for claim in summary.claims} == {"not trained"}
