"""What is judged where several kinds of machines, or too few seeds, have runs."""

from dataclasses import replace

import pytest

from attnjax.evaluation.measurement import MetricKey
from attnjax.experiment import AboveBest, Claim
from attnjax.lab.reporting.recorded import recorded
from attnjax.lab.reporting.tally import tally
from attnjax.lab.results.judging import judge
from attnjax.lab.results.read import read_runs
from attnjax.lab.results.stand_in import standing_in
from results_page.found import findings
from results_page.page import page
from tests.results.of_shares import at_rate, judged_by, tuned_over, with_shares


def test_seeds_of_several_machines_add_up_until_one_machine_has_all(short, made):
    loaded = judged_by(short, 4, 0.5)
    first = with_shares(short, made, 0.9, 0.8)
    second = [
        replace(each, seed=each.seed + 2) for each in with_shares(short, made, 0.85, 0.95, kind="b")
    ]
    (judged,) = recorded(loaded, first).summary.judged
    assert judged.rows[""].verdict == "not judged yet"
    assert judged.rows[""].reason == "there are 2 of 4 planned seeds"
    (judged,) = recorded(loaded, first + second).summary.judged
    assert judged.rows[""].verdict == "reproduced"
    assert [seed for seed, _ in judged.rows[""].seeds] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("there", "failed", "reason"),
    [
        (0, {}, "cosine was not run"),
        (0, {"cosine": "a loss is not finite"}, "cosine failed: a loss is not finite"),
        (2, {}, "there are 2 of 3 planned seeds of cosine"),
    ],
)
def test_a_claim_on_the_best_names_the_row_that_lacks(short, made, there, failed, reason):
    scaled = short.ablation.variants["scaled"]
    claim = Claim(text="", estimand=AboveBest("exact_match", "scaled", ("cosine",)), low=-0.02)
    variants = {"scaled": scaled, "cosine": scaled}
    loaded = replace(
        short, ablation=replace(short.ablation, variants=variants, seeds=3, claims=(claim,))
    )
    other = with_shares(short, made, 0.1, 0.2, 0.3)[:there]
    records = with_shares(short, made, 0.9, 0.8, 0.85)
    records += [replace(record, variant="cosine") for record in other]
    (judged,) = judge(loaded, records, failed).judged
    assert [row.verdict for row in judged.rows.values()] == ["not judged yet"] * bool(there)
    assert reason in (judged.reason, *(row.reason for row in judged.rows.values()))


def test_machines_that_disagree_are_shown_both(short, made):
    loaded = judged_by(short, 3, 0.5)
    ours = with_shares(short, made, 0.9, 0.8, 0.85)
    theirs = with_shares(short, made, 0.1, 0.2, 0.15, kind="b")
    found = recorded(loaded, ours + theirs)
    (judged,) = found.summary.judged
    assert {kind: row.verdict for kind, row in judged.rows.items()} == {
        "a": "reproduced",
        "b": "not reproduced",
    }
    assert not judged.agreed
    text = page([found])
    assert "a: ✓ reproduced; b: ✗ not reproduced" in text
    told = "Our own questions: 0 of 1 hold and 1 has other verdicts on other machines"
    assert tally([found]).startswith(told)


def test_a_row_has_the_runs_of_one_machine_as_its_verdict_has(short, made):
    loaded = judged_by(short, 3, 0.5)
    ours = with_shares(short, made, 0.9, 0.8, 0.85)
    theirs = with_shares(short, made, 0.1, 0.2, 0.15, kind="b")
    few = with_shares(short, made, 0.0, kind="c")
    summary = judge(loaded, few + ours + theirs)
    (row,) = summary.rows
    column = row.column(MetricKey("exact_match"))
    assert row.seeds == (0, 1, 2)
    assert (column.mean, column.deviation) == (pytest.approx(0.85), pytest.approx(0.05))
    assert summary.judged[0].rows["a"].estimate == pytest.approx(0.85)
    assert [record.kind for record in summary.apart] == ["c", "b", "b", "b"]
    assert len(summary.records) == 7, "they are recorded, whatever the row has"
    assert summary.remarks[-2:] == (
        "beside the rows, not in their means: scaled on c, seeds 0",
        "beside the rows, not in their means: scaled on b, seeds 0, 1, 2",
    )


def test_seeds_that_were_tuned_to_other_values_do_not_add_up(short, made):
    loaded = tuned_over(judged_by(short, 3, 0.5), (0.01, 0.02))
    first = at_rate(with_shares(short, made, 0.9, 0.8), loaded, 0.01)
    third = with_shares(short, made, 0.9, 0.8, 0.85, kind="b")[2:]
    other = judge(loaded, first + at_rate(third, loaded, 0.02))
    assert other.judged[0].rows[""].reason == "there are 2 of 3 planned seeds"
    assert other.rows[0].seeds == (0, 1)
    assert other.remarks[-1].endswith("scaled on b, tuned to 0.02, seeds 2")
    alike = judge(loaded, first + at_rate(third, loaded, 0.01))
    assert alike.judged[0].rows[""].verdict == "reproduced"
    assert alike.rows[0].seeds == (0, 1, 2)
    assert not alike.apart


def test_a_machine_is_judged_by_its_own_runs_at_its_own_ties(short, made):
    """At 0.02 the claim fails on b alone, and 0.02 is tied there, or chosen there."""
    loaded = tuned_over(judged_by(short, 3, 0.5), (0.01, 0.02))
    good, bad = (0.9, 0.8, 0.85), (0.1, 0.2, 0.15)

    def runs(shares, kind, rate, *, tied=False):
        return at_rate(with_shares(short, made, *shares, kind=kind), loaded, rate, tied=tied)

    def verdicts(*records):
        (judged,) = judge(loaded, [one for some in records for one in some]).judged
        return {kind: row.verdict for kind, row in judged.rows.items()}

    chosen = runs(good, "a", 0.01), runs(good, "b", 0.01)
    own = runs(good, "a", 0.02, tied=True), runs(bad, "b", 0.02, tied=True)
    assert verdicts(*chosen, *own) == {"a": "reproduced", "b": "depends on the rate"}
    # what a machine lacks is that of another
    assert verdicts(*chosen, own[1]) == dict.fromkeys("ab", "depends on the rate")
    # but not where the other one chose other values, and these are tied with those
    for rate in (0.01, 0.04):
        other = runs(good, "a", 0.01), runs(bad, "b", 0.02), runs(bad, "b", rate, tied=True)
        assert verdicts(*other) == {"a": "reproduced", "b": "not reproduced"}
    # nor at the values that it chose itself
    assert verdicts(chosen[0], runs(bad, "c", 0.01, tied=True)) == {"a": "reproduced"}


def test_where_machines_agree_the_weakest_verdict_is_told(short, made):
    loaded = judged_by(short, 3, 0.5)
    source = "Somebody 2026, Table 1"
    (claim,) = loaded.ablation.claims
    ablation = replace(loaded.ablation, claims=(replace(claim, kind="reduced", source=source),))
    loaded = replace(loaded, ablation=ablation)
    ours = with_shares(short, made, 0.9, 0.9, 0.91)
    theirs = with_shares(short, made, 0.84, 0.9, 0.87, kind="b")
    found = recorded(loaded, ours + theirs)
    (judged,) = found.summary.judged
    assert judged.agreed
    assert judged.weakest is judged.rows["b"]
    assert judged.rows["b"].p > judged.rows["a"].p
    assert findings([found])[0].ours.startswith("exact match: 0.87")
    without = replace(judged, rows={**judged.rows, "c": replace(judged.rows["a"], p=None)})
    assert without.weakest is without.rows["c"]


def test_counts_that_are_undecided_or_disagree_are_not_called_wrong(short, made):
    found = recorded(judged_by(short, 3, 0.5), with_shares(short, made, 0.9, 0.8, 0.85))
    (judged,) = found.summary.judged
    row = replace(judged.rows["a"], basis="count", p=None)

    def count(*verdicts):
        rows = {str(kind): replace(row, verdict=verdict) for kind, verdict in enumerate(verdicts)}
        return replace(judged, kind="reduced", source="Somebody 2026, Table 1", rows=rows)

    def told(*counts):
        claims = found.loaded.ablation.claims * len(counts)
        ablation = replace(found.loaded.ablation, claims=claims)
        loaded = replace(found.loaded, ablation=ablation)
        summary = replace(found.summary, judged=counts)
        (finding,) = findings([replace(found, loaded=loaded, summary=summary)])
        return finding.verdict, finding.ours

    right, wrong = count("reproduced"), count("not reproduced")
    assert told(right, wrong, right) == ("✓ 2, ✗ 1", "2 of 3 in their regions")
    assert told(right) == ("✓ 1, ✗ 0", "1 of 1 in their regions")
    open_ones = right, count("undecided"), count("reproduced", "not reproduced")
    assert told(*open_ones) == ("✓ 1, ✗ 0, ? 1, ≠ 1", "1 of 3 in their regions")


def test_records_at_another_tuned_value_are_called_that(runs, short, made):
    loaded = tuned_over(judged_by(short, 3, 0.5), (0.01, 0.02))
    recorded_ones = with_shares(short, made, 0.9, 0.8, 0.85)
    first = at_rate(recorded_ones[:2], loaded, 0.01)
    third = at_rate(recorded_ones[2:], loaded, 0.02)
    reason = standing_in(loaded, first + third).reasons["scaled"]
    assert reason == "1 record is not taken: tuned to 0.02, and other runs to 0.01"
    alike = at_rate(recorded_ones, loaded, 0.01)
    assert not standing_in(loaded, alike).reasons["scaled"]
    # beside a run at another value none is taken, whatever its experiment calls the variant
    for name in ("scaled", "mine"):
        others = [replace(record, variant=name) for record in recorded_ones[1:]]
        found = standing_in(loaded, at_rate(others, loaded, 0.02), read_runs(runs)[:1])
        assert not found.records
        reason = "2 records are not taken: tuned to 0.02, and other runs to 0.01"
        assert found.reasons["scaled"] == reason
