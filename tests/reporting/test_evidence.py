"""What stands beside a verdict: p, what few seeds cannot exclude, what would decide."""

import math
from dataclasses import replace

import pytest

from attnjax.evaluation.measurement import MetricKey
from attnjax.lab.reporting import evidence
from attnjax.lab.results.summary import ClaimRow, PublishedRow

KEY = MetricKey("exact_match")
ROW = ClaimRow(
    text="It holds.",
    metric=KEY,
    estimate=0.99,
    low=0.95,
    high=1.0,
    p=0.0123,
    region=(0.9, math.inf),
    verdict="reproduced",
    seeds=((0, 0.98), (1, 1.0), (2, 0.99)),
)


def test_three_seeds_cannot_exclude_that_most_fail():
    # Clopper and Pearson: 1 - 0.025 ** (1 / 3)
    assert evidence.few_seeds(ROW) == "3 of 3 seeds meet it; up to 71 % of seeds could fail"
    failed = replace(ROW, verdict="not reproduced", seeds=((0, 0.1), (1, 0.2), (2, 0.95)))
    assert evidence.few_seeds(failed) == "1 of 3 seeds meet it; up to 91 % of seeds could"
    many = replace(ROW, seeds=tuple((seed, 0.95) for seed in range(10)))
    for row in (many, replace(ROW, verdict="undecided"), replace(ROW, basis="count")):
        assert evidence.few_seeds(row) == ""
    assert evidence.seeds(ROW).endswith(evidence.few_seeds(ROW))


@pytest.mark.parametrize(
    ("more", "minutes", "sentence"),
    [
        (1, None, "1 more seed would decide it at this spread"),
        (1200, 30.4, "1,200 more seeds would decide it at this spread, in 30 minutes"),
        (None, None, "no thousand more seeds would decide it at this spread"),
    ],
)
def test_an_undecided_claim_says_what_would_decide_it(more, minutes, sentence):
    row = replace(ROW, verdict="undecided", more_seeds=more, more_minutes=minutes)
    assert evidence.wanting(row) == sentence
    assert evidence.seeds(row).endswith(sentence)
    assert "more" not in evidence.seeds(replace(row, reason="fewer than 3 seeds"))


def test_p_and_the_confidence_stand_beside_the_interval():
    assert "(95 % over seeds: 0.950 to 1.000; p 0.01)" in evidence.evidence(ROW)
    row = replace(ROW, confidence=1 - 0.05 / 3, p=1e-6)
    assert "(98.3 % over seeds: 0.950 to 1.000; p < 1e-06)" in evidence.evidence(row)
    assert "; p" not in evidence.evidence(replace(ROW, p=None))
    # with ties the interval is that at the chosen values, and p the largest of all combinations
    tied = replace(ROW, combinations=6)
    assert "(95 % over seeds: 0.950 to 1.000; p at most 0.01)" in evidence.evidence(tied)
    assert "; p < 1e-06)" in evidence.evidence(replace(tied, p=1e-6))
    open_one = replace(tied, verdict="undecided", more_seeds=3)
    assert evidence.wanting(open_one).endswith("would decide it at the spreads of all tied values")
    assert "(counted)" in evidence.evidence(replace(ROW, basis="count"))


def test_a_figure_says_why_it_cannot_be_compared():
    row = PublishedRow(paper="A 2000", table="Table 1", variant="a", metric=KEY, value=0.5)
    assert evidence.published(row) == "A 2000, Table 1"
    other = replace(row, why_not="another corpus")
    assert evidence.published(other) == "A 2000, Table 1; not comparable: another corpus"
