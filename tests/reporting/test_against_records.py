"""`attnjax record RUNS --compare`: what of the records comes out again."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from attnjax.config.serialize import to_json
from attnjax.experiment import Claim, Value
from attnjax.experiment.load import ExperimentFile, load
from attnjax.lab.cli.main import main
from attnjax.lab.reporting.against_records import against_records, in_short
from attnjax.lab.results.judging import judge
from attnjax.lab.results.lines import read_records, write
from attnjax.lab.results.read import read_runs, recordings, settings_digest
from attnjax.lab.results.record import Record
from attnjax.lab.runs.versions import Machine, machine

TINY = Path(__file__).parents[1] / "tiny.py"
NOW = "2026-11-24T06:00:00+00:00"


@pytest.fixture(scope="module")
def loaded() -> ExperimentFile:
    loaded = load(TINY)
    claim = Claim(text="It is a share.", estimand=Value("alignment_error", "scaled"), low=-9.0)
    return replace(loaded, ablation=replace(loaded.ablation, seeds=2, claims=(claim,)))


@pytest.fixture(scope="module")
def runs(tiny_runs) -> list[Record]:
    return read_runs(tiny_runs / "tiny")


@pytest.fixture(scope="module")
def records(runs, loaded) -> list[Record]:
    """Records as their files have them, which do not say where a run lies."""
    return [replace(made, source=None) for made in recordings(runs, loaded, NOW)]


def moved(record: Record, by: float, kind: str) -> Record:
    """A record of another machine, with another alignment error."""
    metrics = tuple(
        replace(item, value=(item.value or 0) + by) if item.name == "alignment_error" else item
        for item in record.metrics
    )
    place = Machine(kind=kind, processor="", cores=1, xla_flags="")
    return replace(record, metrics=metrics, machine=place)


def test_equal_runs_are_as_recorded(loaded, runs, records):
    numbers = sum(len(run.metrics) for run in runs)
    assert [*against_records(loaded, runs, records)] == [
        f"{numbers} of {numbers} numbers are equal to the bit",
        "It is a share.: as recorded: undecided",
    ]


def changed(record: Record) -> float:
    return 0.25 if (record.variant, record.seed) == ("scaled", 1) else 0.125


def test_other_numbers_of_the_same_kind_are_shown_with_both_intervals(loaded, runs, records):
    other = [moved(record, changed(record), machine().kind) for record in records]
    numbers, kind = sum(len(run.metrics) for run in runs), machine().kind
    (error,) = (
        item.value
        for run in runs
        for item in run.metrics
        if (run.variant, run.seed, item.name) == ("scaled", 1, "alignment_error")
    )
    equal, claim = against_records(loaded, runs, other)
    assert equal.startswith(
        f"{numbers - 4} of {numbers} numbers are equal to the bit; the largest difference is "
        f"{100 * 0.25 / (error + 0.25):.3g} %, of alignment error of scaled/seed-1: "
    )
    # the records are of a processor without a name: that may be why
    assert equal.endswith(" recorded (the record is of another processor, unknown)")
    assert claim.startswith(
        "It is a share.: the verdict is as recorded, with other numbers: undecided, "
    )
    assert f") on {kind} here; undecided, " in claim
    assert claim.endswith(f") on {kind} recorded")


def test_between_kinds_of_machines_means_are_compared(loaded, runs, records):
    other = [moved(record, changed(record), "h100-1") for record in records]
    of_answers = [
        replace(
            record,
            metrics=tuple(
                replace(item, value=(item.value or 0) + 0.5)
                if item.name == "exact_match" and record.variant == "scaled"
                else item
                for item in record.metrics
            ),
        )
        for record in other
    ]
    means, claim = against_records(loaded, runs, of_answers)
    assert means == (
        "on another kind of machine, h100-1: means over seeds differ by at most 0.50, in exact "
        "match (scaled)"
    )
    assert claim.endswith(") on h100-1 recorded")
    # a record of the run's own kind of machine comes first, whatever else is recorded
    numbers = sum(len(run.metrics) for run in runs)
    equal, _ = against_records(loaded, runs, [*other, *records])
    assert equal == f"{numbers} of {numbers} numbers are equal to the bit"


def test_a_number_that_one_side_lacks_is_not_equal(loaded, runs, records):
    fewer = [replace(records[0], metrics=records[0].metrics[1:]), *records[1:]]
    numbers = sum(len(run.metrics) for run in runs)
    for here, there, missing in ((runs, fewer, "missing recorded"), (fewer, records, "missing he")):
        equal, *_ = against_records(loaded, here, there)
        assert equal.startswith(f"{numbers - 1} of {numbers} numbers are equal to the bit")
        assert missing in equal


def test_another_verdict_is_not_as_recorded(loaded, runs, records):
    claim = replace(loaded.ablation.claims[0], low=-1e-3, high=5.0)
    three = replace(loaded, ablation=replace(loaded.ablation, seeds=3, claims=(claim,)))
    scaled = [run for run in runs if run.variant == "scaled"]
    more = [*scaled, replace(scaled[0], seed=2)]
    far = [moved(replace(record, source=None), 50.0, "b") for record in more]
    *_, verdict = against_records(three, more, far)
    assert verdict.startswith("It is a share.: not as recorded: reproduced, ")
    assert " here; not reproduced, " in verdict


def test_runs_without_a_record_are_counted(loaded, runs, records):
    first, *_ = against_records(loaded, runs, records[:1])
    assert first == "3 of 4 runs have no record of their settings, data and seed"
    other = [replace(record, key="0" * 8) for record in records]
    assert [*against_records(loaded, runs, other)] == [
        "4 of 4 runs have no record of their settings, data and seed"
    ]


def test_the_command_writes_no_record(tiny_runs, tmp_path, capsys):
    to = tmp_path / "records"
    assert main(["record", str(tiny_runs / "tiny"), "--to", str(to)]) == 0
    (file,) = to.glob("*.jsonl")
    without_one = "".join(file.read_text().splitlines(keepends=True)[1:])
    file.write_text(without_one)
    capsys.readouterr()
    assert main(["record", str(tiny_runs / "tiny"), "--to", str(to), "--compare"]) == 0
    said = "".join(capsys.readouterr())
    assert "tiny: 1 of 4 runs have no record" in said
    assert "numbers are equal to the bit" in said
    assert file.read_text() == without_one
    shutil.rmtree(to)
    assert main(["record", str(tiny_runs / "tiny"), "--to", str(to), "--compare"]) == 2
    assert "holds no records" in capsys.readouterr().err


def test_records_are_read_as_runs_are(tiny_runs, loaded, tmp_path):
    """A record of a file has the key that the run's folder gives."""
    assert main(["record", str(tiny_runs / "tiny"), "--to", str(tmp_path)]) == 0
    keys = [(run.key, run.seed) for run in read_runs(tiny_runs / "tiny")]
    assert sorted(keys) == sorted((record.key, record.seed) for record in read_records(tmp_path))


def test_a_run_ends_with_what_is_as_recorded(loaded, runs, records, tmp_path):
    """What is of other keys is not read, so that its damage does not matter."""
    write(records, tmp_path)
    other = tmp_path / "tiny" / "scaled" / "00000000-seed-0-h100-1.json"
    other.parent.mkdir(parents=True)
    other.write_text("{")
    (tmp_path / "others.jsonl").write_text("{")
    numbers = sum(len(run.metrics) for run in runs)
    printed = judge(loaded, runs)
    assert [*in_short(loaded, runs, printed, [tmp_path])] == [
        f"compared with the records in {tmp_path}:",
        f"{numbers} of {numbers} numbers are equal to the bit",
        "1 of 1 verdicts are as recorded",
    ]
    assert [*in_short(loaded, runs, printed, [tmp_path / "none"])] == []
    write([moved(records[0], 0.25, machine().kind)], tmp_path / "moved")
    numbers = len(records[0].metrics)
    _, line, *_ = in_short(loaded, [runs[0]], judge(loaded, runs[:1]), [tmp_path / "moved"])
    assert line.startswith(f"{numbers - 1} of {numbers} numbers are equal to the bit; the largest")


TIED = "optimizer.schedule.value"


def tuned(record: Record, rate: float, *, tied: bool = False, by: float = 0.0) -> Record:
    """A run or record that was tuned to a rate, or is at a rate that is tied."""
    return replace(moved(record, by, record.kind), tuned={TIED: rate}, tied=tied)


def test_a_verdict_that_a_tied_rate_changes_is_not_as_recorded(loaded, runs, records, tmp_path):
    """The runs at the tied rate have no record, and still count."""
    claim = replace(loaded.ablation.claims[0], low=-9.0, high=9.0)
    three = replace(
        loaded, ablation=replace(loaded.ablation, seeds=3, claims=(claim,), tune={TIED: (0.1, 1.0)})
    )

    settings = settings_digest(to_json(three.ablation.variant("scaled"), three.own), (TIED,))

    def seeds(of: list[Record]) -> list[Record]:
        first = next(record for record in of if record.variant == "scaled")
        first = replace(first, settings=settings)
        return [
            moved(tuned(replace(first, seed=seed), 0.1), 0.01 * seed, first.kind)
            for seed in range(3)
        ]

    recorded = seeds(records)
    write([replace(record, grid=None) for record in recorded], tmp_path)
    chosen = seeds(runs)
    at_tie = [tuned(replace(run, source=None), 1.0, tied=True, by=50.0) for run in chosen]
    here = [replace(run, source=None) for run in chosen]
    assert judge(three, here).claims[0].verdict == "reproduced"
    printed = judge(three, [*here, *at_tie])
    assert printed.claims[0].verdict == "depends on the rate"
    lines = [*in_short(three, [*here, *at_tie], printed, [tmp_path])]
    assert lines[1] == (
        "3 of 6 runs have no record of their settings, data and seed; 3 of these are at tied "
        f"values: scaled at {TIED}=1.0"
    )
    assert lines[-2:] == [
        "0 of 1 verdicts are as recorded",
        "not as recorded: It is a share.: depends on the rate here, reproduced recorded",
    ]
    # a claim without a verdict here is not as recorded, and a verdict is that of all its records
    lines = [*in_short(three, here[:2], judge(three, here[:2]), [tmp_path])]
    assert lines[-2] == "0 of 1 verdicts are as recorded"
    assert lines[-1].endswith("not judged yet here, reproduced recorded")


def test_each_kind_of_machine_is_compared_with_its_own_verdict(loaded, runs, records):
    claim = replace(loaded.ablation.claims[0], low=-9.0, high=9.0)
    three = replace(loaded, ablation=replace(loaded.ablation, seeds=3, claims=(claim,)))
    first = next(record for record in records if record.variant == "scaled")

    def on(kind: str, by: float) -> list[Record]:
        return [moved(replace(first, seed=seed), by + 0.01 * seed, kind) for seed in range(3)]

    here = [*on("a", 0.0), *on("b", 50.0)]
    *_, line = against_records(three, here, [*on("a", 0.0), *on("b", 50.0)])
    assert line.startswith("It is a share.: as recorded: reproduced on a, not reproduced on b")
    *_, line = against_records(three, here, [*on("a", 0.0), *on("b", 0.0)])
    assert "not as recorded" in line
    *_, line = against_records(three, on("c", 0.0), here)
    assert "not as recorded" in line, "no verdict is that of both kinds"


def test_records_that_cannot_be_read_end_no_run(tmp_path, tiny_runs, runs, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for run in runs:
        folder = tmp_path / "records" / "tiny" / run.variant
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{run.key}-seed-{run.seed}-h100-1.json").write_text("{")
    shutil.copytree(tiny_runs, tmp_path / "runs")
    assert main(["run", str(TINY)]) == 0
    assert "equal to the bit" not in capsys.readouterr().out
