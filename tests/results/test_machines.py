"""What is judged where several kinds of machines, or too few seeds, have runs."""

from dataclasses import replace

import pytest

from attnjax.experiment import AboveBest, Claim
from attnjax.reporting.recorded import recorded
from attnjax.reporting.results_page import page
from attnjax.reporting.tally import tally
from attnjax.results.judging import judge
from tests.results.of_shares import judged_by, with_shares


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
    text = page([found], "attnjax results")
    assert "a: ✓ reproduced; b: ✗ not reproduced" in text
    assert tally([found]).startswith("1 of 1 claim of our own has other verdicts on other machines")
