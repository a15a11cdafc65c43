"""Records: of finished runs alone, never changed, judged as the runs themselves are."""

import base64
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest

from attnjax.config.serialize import to_json
from attnjax.config.vary import vary
from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.decoding import Beam
from attnjax.errors import UserError
from attnjax.evaluation import sentence_stats
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.packed_array import packed, unpacked
from attnjax.experiment import Value
from attnjax.experiment.design import design
from attnjax.lab.reporting.recorded import Recorded, recorded
from attnjax.lab.reporting.tally import tally
from attnjax.lab.results.fit import fitting
from attnjax.lab.results.lines import alike, read_records, write
from attnjax.lab.results.read import read_runs, settings_digest
from attnjax.lab.results.record import Answers, Minutes, Record
from attnjax.lab.results.summary import Judged
from attnjax.lab.runs.versions import machine
from results_page.page import in_readme, page
from results_page.rerun import rerun_time, rerun_times
from tests.results.of_shares import judged_by, with_shares

EXACT = MetricKey("exact_match")
RATE, OTHER = ({"optimizer.schedule.value": rate} for rate in (0.01, 0.02))


def commit_of(record: Record) -> str:
    assert record.code is not None
    return (record.code.attnjax.commit or "unknown")[:8]


def test_a_record_measures_what_its_run_does(runs, short, made, tmp_path):
    assert write(made[:1], tmp_path) == made[:1]
    path = tmp_path / "tiny.jsonl"
    assert path.stat().st_size < 8_000
    (again,) = read_records(tmp_path)
    assert again == made[0]
    assert again.where == f"{path}, line 1, commit {commit_of(again)}, {machine().kind}"
    assert read_runs(runs)[0].where == str(runs / "scaled" / "seed-0")
    ours, theirs = again.measured(short.own), read_runs(runs)[0].measured(short.own)
    # whether a value is not a number must not matter
    np.testing.assert_equal({**ours.metrics}, {**theirs.metrics})
    assert ours.sentences is not None
    assert theirs.sentences is not None
    assert ours.sentences.metric == theirs.sentences.metric
    np.testing.assert_array_equal(ours.sentences.statistics, theirs.sentences.statistics)
    np.testing.assert_array_equal(ours.sentences.lengths, theirs.sentences.lengths)
    assert again.machine == machine()
    assert set(again.data) == {"train", "valid", "test"}
    assert again.minutes.decode is not None


def test_seeds_have_one_key_and_other_settings_another(short, made):
    assert made[0].key == made[1].key
    settings = json.loads(made_settings := json.dumps({"training": {"steps": 2, "x": 1}}))
    assert settings_digest(settings, ()) != settings_digest({"training": {"steps": 3, "x": 1}}, ())
    machine_only = json.loads(made_settings)
    machine_only["training"] |= {"parallel": "pmap", "device_tokens": 3}
    assert settings_digest(machine_only, ()) == settings_digest(settings, ())
    tuned = {"optimizer": {"schedule": {"peak": 0.1}}}
    path = "optimizer.schedule.peak"
    assert settings_digest(tuned, (path,)) == settings_digest({}, (path,))


def test_a_record_is_never_replaced_and_a_changed_one_is_refused(made, tmp_path):
    assert write(made[:1], tmp_path) == made[:1]
    assert write(made[:1], tmp_path) == [], "the same run is recorded once"
    later = replace(made[0], files={"result.json": "0" * 64})
    assert write([later], tmp_path) == [], "files that a run gets later change no number"
    other = replace(made[0], updates=3)
    path = tmp_path / made[0].file_name
    with pytest.raises(UserError, match="line 1 is the record of another run .* never replaced"):
        write([made[1], other], tmp_path)
    assert [record.seed for record in read_records(tmp_path)] == [0, 1], "others are added"
    path.write_text(path.read_text().replace('"updates": 2', '"updates": 3'))
    with pytest.raises(UserError, match="its content does not match its digest"):
        read_records(tmp_path)
    with pytest.raises(UserError, match="holds no records"):
        read_records(tmp_path / "none")


def test_two_records_of_one_run_are_refused_whatever_key_they_name(made, tmp_path):
    """Which of them counts would depend on the times at which they were recorded."""
    later = replace(made[0], key="0" * 8, recorded="2030-01-01T00:00:00+00:00")
    write([made[0], later], tmp_path / "a")
    assert len(read_records(tmp_path / "a")) == 2, "equal numbers do no harm"
    other = tuple(replace(item, value=(item.value or 0) + 1) for item in made[0].metrics)
    write([made[0], replace(later, metrics=other)], tmp_path / "b")
    with pytest.raises(UserError, match="two runs with the same settings, seed and machine"):
        read_records(tmp_path / "b")


def test_answers_and_parameters_of_a_record_count_too(made):
    """Claims by length are judged by answers: those of another run are another record's."""
    answers = made[0].answers
    assert answers is not None
    assert alike(made[0], replace(made[0], answers=None)), "a run's folder has no packed answers"
    statistics = unpacked(answers.statistics, answers.kind, answers.shape)
    again = base64.b64encode(zlib.compress(statistics.tobytes(), 0)).decode()
    assert again != answers.statistics
    assert alike(made[0], replace(made[0], answers=replace(answers, statistics=again)))
    other = replace(answers, statistics=packed(1 - statistics))
    assert not alike(made[0], replace(made[0], answers=other))
    assert not alike(made[0], replace(made[0], parameters=7))


def test_statistics_are_packed_without_loss(runs):
    sentences = sentence_stats.read(runs / "scaled" / "seed-0")
    assert sentences is not None
    for statistics in (
        np.random.default_rng(0).normal(size=(5, 2)),
        np.array([[0, 127], [-128, 3]]),
        np.array([[0, 70_000], [1, 2]]),
    ):
        changed = replace(sentences, statistics=statistics, lengths=None)
        again = Answers.of(changed, {}).sentences({})
        np.testing.assert_array_equal(again.statistics, statistics)
        assert again.lengths is None


def test_more_seeds_than_planned_decide_nothing(short, made):
    loaded = judged_by(short, 3, 0.5)
    (judged,) = recorded(loaded, with_shares(short, made, 0.9, 0.8, 0.85, 0.0)).summary.judged
    assert [seed for seed, _ in judged.rows["a"].seeds] == [0, 1, 2]


def test_runs_at_tied_values_are_in_no_mean(short, made):
    """A paper's figure stands beside the mean at the chosen values."""
    chosen = with_shares(short, made, 0.9, 0.8)
    tied = [replace(each, tied=True, tuned={"x": 2}) for each in with_shares(short, made, 0.1, 0.2)]
    (row,) = recorded(short, chosen + tied).summary.rows
    assert row.column(EXACT).mean == pytest.approx(0.85)
    assert recorded(short, tied).summary.rows == ()


def test_a_later_design_is_exploratory_and_other_settings_are_not_judged(short, made):
    assert not recorded(short, made).exploratory
    later = judged_by(short, 2, 0.7)
    assert recorded(later, made).exploratory
    # a later design is confirmed by seeds that nobody had seen, whatever others came to
    of_new_seeds = judged_by(short, 2, 0.7, first_seed=10)
    fixed = design(of_new_seeds.ablation, of_new_seeds.own)
    new = [replace(each, seed=each.seed + 10, design=fixed) for each in made]
    assert {record.seed for record in new} == {*of_new_seeds.ablation.planned_seeds}
    assert not recorded(of_new_seeds, made).exploratory
    assert not recorded(of_new_seeds, [*made, *new]).exploratory
    earlier = [replace(each, settings="0" * 8) for each in made]
    assert not recorded(of_new_seeds, [*earlier, *new]).exploratory
    fixed = design(later.ablation, later.own)
    again = [replace(each, design=fixed) for each in made]
    assert recorded(later, [*earlier, *again]).exploratory
    other = [replace(each, settings="0" * 8) for each in made]
    found = recorded(short, other)
    assert not found.summary.records
    assert [judged.absent for judged in found.summary.judged] == [("scaled",)]
    assert "no record of scaled" not in page([found]), "nothing is judged"
    assert "there are 2 runs more, not shown" in page([found])


def test_records_of_earlier_data_are_not_shown_beside_those_of_later_ones(short, made):
    task = ParallelText(folder="texts")
    base = vary(short.ablation.variants["scaled"], {"task": task})
    variants = {"scaled": base, "cosine": vary(base, {"training.steps": 3})}
    loaded = replace(short, ablation=replace(short.ablation, variants=variants))

    def of(name, seed, data, day):
        settings = settings_digest(to_json(variants[name], short.own), ())
        recorded = f"2026-11-{day}"
        return replace(
            made[0], variant=name, seed=seed, settings=settings, data=data, recorded=recorded
        )

    old, new = {"train": "a" * 16, "test": "b" * 16}, {"train": "c" * 16, "test": "b" * 16}
    records = [of("scaled", 0, old, 1), of("cosine", 0, old, 2), of("scaled", 0, {}, 3)]
    records += [of("scaled", 1, new, 4), of("scaled", 2, new, 5)]
    assert fitting(loaded, records) == records[2:], "what is not recorded is not compared"
    assert recorded(loaded, records).summary.earlier == tuple(records[:2])
    again = [of("scaled", 0, old, 1), of("scaled", 1, old, 2), of("scaled", 0, new, 3)]
    assert fitting(loaded, again) == again[2:], "a seed trained anew says what the data are now"
    assert recorded(loaded, again).summary.earlier == tuple(again[:2])
    of_seeds = [replace(each, data={"train": str(each.seed)}) for each in made]
    assert fitting(short, of_seeds) == of_seeds, "each seed draws its data"


def test_words_may_be_mended_and_regions_not(short):
    ablation = short.ablation
    first = design(ablation)
    (claim,) = ablation.claims
    assert design(replace(ablation, claims=(replace(claim, text="in other words"),))) == first
    for changed in (
        {"claims": (replace(claim, low=-2.0),)},
        {
            "claims": (
                replace(
                    claim,
                    estimand=Value("exact_match", "scaled"),
                    given=Value("exact_match", "scaled") >= 0.5,
                ),
            )
        },
        {"seeds": 3},
        {"first_seed": 1},
        {"tune": {"optimizer.schedule.value": (0.1, 0.2)}},
    ):
        assert design(replace(ablation, **changed)) != first


@pytest.mark.parametrize(
    ("flags", "kind"),
    [("", 0), ("--xla_cpu_max_isa=SSE4_2", 2), ("--foo --xla_cpu_max_isa=AVX2", 1)],
)
def test_the_kind_of_a_machine_has_its_instructions(monkeypatch, flags, kind):
    from attnjax.lab.runs import versions

    everything = "fpu sse4_2 avx avx2 avx512f"
    names = ["avx512", "avx2", "sse4_2"]
    assert versions._instructions(everything, flags) == names[kind]
    assert versions._instructions("sse4_2 avx2", "") == "avx2"
    assert versions._instructions("", "") == "other"


def test_the_tally_hides_no_verdict(short, made):
    """Counts that are not reproduced, exploratory claims, and claims that wait are in it."""
    found = recorded(judged_by(short, 3, 0.5), with_shares(short, made, 0.9, 0.8, 0.85))
    (judged,) = found.summary.judged
    row = replace(judged.rows["a"], p=0.001)

    def with_row(**changes) -> Judged:
        return replace(judged, rows={"a": replace(row, **changes)})

    waiting = replace(judged, rows={}, absent=("scaled",))
    claims = [
        replace(with_row(), kind="reduced", source="Luong et al. 2015, Table 1"),
        replace(with_row(), kind="figure", source="Wu et al. 2021, Table 1"),
        replace(with_row(verdict="undecided"), kind="figure", source="Wu et al. 2021, Table 1"),
        replace(with_row(), kind="figure", source="nanoGPT, README"),
        replace(with_row(verdict="not reproduced"), kind="stand-in", source="Su et al. 2021, 3"),
        *[with_row()] * 2,
        with_row(verdict="undecided", p=0.9),
        with_row(verdict="not trained", p=None, exploratory=True),
        with_row(basis="count", p=None),
        with_row(basis="count", p=None, verdict="not reproduced"),
        waiting,
        with_row(verdict="not judged yet", p=None),
    ]
    designed = design(found.loaded.ablation)
    fixed = replace(found, records=[replace(each, design=designed) for each in found.records])

    def all_of_them(experiment: Recorded) -> Recorded:
        return replace(experiment, summary=replace(experiment.summary, judged=tuple(claims)))

    assert tally([all_of_them(fixed)]) == (
        "In their authors' own settings, beside their printed numbers: 2 of 3 agree (1 of 2 "
        "papers', 1 of 1 of lectures, notebooks and programs) and 1 is undecided. "
        "In reduced settings: 1 of 1 is reproduced. "
        "Statements tried on small tasks: 0 of 1 hold and 1 does not. "
        "Our own questions: 2 of 4 hold, 1 is undecided and 1 is of networks that had not learnt; "
        "1 of them is exploratory. "
        "2 more are exact counts: 1 holds and 1 does not. "
        "2 claims wait for runs."
    )
    changed = tally([all_of_them(found)])
    assert "; 1 of them is exploratory." in changed
    assert "; 4 of them are exploratory." in changed
    assert "; 2 of them are exploratory." in changed


def test_a_training_that_variants_share_takes_its_time_once(short, made):
    ablation = short.ablation
    beam = vary(ablation.variants["scaled"], {"search": Beam()})
    both = replace(ablation, variants={**ablation.variants, "beam": beam})
    loaded = replace(short, ablation=both)
    searched = settings_digest(to_json(beam), tuple(ablation.tune))
    scaled = [
        replace(each, minutes=Minutes(train=4.0, decode=0.5, tune=2.0), tuned=RATE)
        for each in with_shares(short, made, 0.9, 0.8)
    ]
    copied = [replace(each, variant="beam", settings=searched) for each in scaled]
    assert rerun_time(recorded(loaded, scaled)) == "11 minutes for 2 of 4 runs"
    assert rerun_time(recorded(loaded, scaled + copied)) == "12 minutes"


def test_a_rerun_takes_what_its_records_took_once(short, made):
    """Not earlier designs, not more seeds than planned, not another machine's; tuning once."""
    one = with_shares(short, made, 0.9, 0.8)
    timed = [
        replace(each, minutes=Minutes(train=1.0, decode=0.5, tune=2.0), tuned=RATE) for each in one
    ]
    tied = replace(timed[0], tied=True, tuned=OTHER, minutes=Minutes(train=4.0, tune=0.0))
    later = replace(timed[0], seed=2)
    earlier = replace(timed[0], settings="0" * 8)
    slower = [
        replace(each, machine=replace(each.machine, kind="b"), minutes=Minutes(train=90.0))
        for each in timed
    ]
    found = recorded(short, [earlier, *slower, *timed, tied, later])
    assert rerun_time(found) == "9 minutes"
    assert "one rerun: 9 minutes" in page([found])
    assert rerun_times([found]) == {"tiny": "9 minutes"}
    assert rerun_time(recorded(short, timed[:1])) == "4 minutes for 1 of 2 runs"
    assert rerun_time(recorded(short, made)) == "under 1 minute"
    assert rerun_time(recorded(short, [earlier])) == "not run"


def test_readme_is_filled_between_its_marks(short, made):
    mark = "<!-- rerun of tiny -->"
    readme = f"It takes {mark}?{mark}.\n<!-- tally -->\n?\n<!-- tally -->\nAll.\n"
    found = recorded(short, made)
    assert in_readme(readme, [found]) == (
        f"It takes {mark}under 1 minute{mark}.\n"
        f"<!-- tally -->\n{tally([found])}\n<!-- tally -->\nAll.\n"
    )
    with pytest.raises(ValueError, match="has no marks"):
        in_readme("no marks", [found])
    with pytest.raises(ValueError, match="a mark for the rerun of it, of which there is no record"):
        in_readme("<!-- rerun of it --><!-- rerun of it -->", [found])
