import io
import math

import pytest
from rich.cells import cell_len
from rich.console import Console

from attnjax.reporting.number import estimate, interval, measured, number
from attnjax.reporting.published import compare
from attnjax.reporting.table import plain, table
from tests.reporting.fake import summary


@pytest.mark.parametrize(
    "mean, deviation, shown",
    [
        (0.98523, 0.00263, "0.985 ± 0.003"),
        (0.98523, 0.0123, "0.985 ± 0.012"),
        (1021.4, 16.9, "1021 ± 17"),
        (1.0, 0.0, "1.000 ± 0"),
        (0.5, None, "0.5000"),
        (41.02, math.nan, "41.02"),
        (math.nan, 0.1, "not a number"),
        (None, None, "–"),
        (1e-9, 2e-10, "1.000e-09 ± 2.0e-10"),
    ],
)
def test_measured(mean, deviation, shown):
    assert measured(mean, deviation) == shown


def test_number_keeps_its_value():
    for value in (3.14159, -0.00123456, 99999.5, 1.5e-7, 2.5e8):
        assert math.isclose(float(number(value)), value, rel_tol=5e-4)


def test_intervals():
    assert interval(0.95, 1.05) == "0.95 to 1.05"
    assert interval(0.01, None) == "at least 0.01"
    assert interval(-math.inf, -0.5) == "at most -0.5"
    assert interval(None, None) == "anything"
    assert estimate(1.00312, 0.9912, 1.0151) == ("1.003", "0.991 to 1.015")
    assert estimate(0.25, None, None) == ("0.2500", "anything")


def test_a_claim_without_its_variants_says_so():
    assert "not judged" not in plain(summary())
    left = [{"text": "It helps.", "missing": ["b"]}, {"text": "It hurts.", "missing": ["b", "a"]}]
    assert "2 claims are not judged, for want of a, b" in plain({**summary(), "unjudged": left})


def test_every_row_shows_the_summary_s_numbers():
    fake = summary()
    lines = plain(fake).splitlines()
    for row in fake["rows"]:
        line = next(line for line in lines if line.strip().startswith(row["variant"] + " "))
        mean, deviation = row["mean"]["exact_match"], row["standard_deviation"]["exact_match"]
        assert measured(mean, deviation) in line
        assert f" {row['n']} " in line
        assert f"{row['parameters']:,}" in line
        assert f"{row['seconds']:.0f}" in line
    for claim in fake["claims"]:
        at = next(i for i, line in enumerate(lines) if claim["text"] in line)
        assert claim["verdict"] in lines[at]
        assert (
            " ".join(estimate(claim["estimate"], claim["low"], claim["high"])[:1]) in lines[at + 1]
        )
    assert not any(line != line.rstrip() for line in lines)


def test_eighty_columns_lose_no_digit():
    fake = summary()
    console = Console(file=io.StringIO(), width=80, color_system=None)
    with console.capture() as capture:
        console.print(table(fake))
    text = capture.get()
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= 80
    for row in fake["rows"]:
        for metric, mean in row["mean"].items():
            assert measured(mean, row["standard_deviation"][metric]) in text


def test_markup_in_names_is_text():
    fake = summary()
    fake["rows"][0]["variant"] = "[bold]x[/bold]"
    assert "[bold]x[/bold]" in plain(fake)


def test_published_is_beside_ours():
    fake = summary()
    first, absent = compare(fake)
    ours = fake["rows"][1]["mean"]["exact_match"]
    assert (first.ours, first.difference) == (ours, ours - 0.98)
    assert (absent.ours, absent.difference, absent.deviation) == (None, None, None)


def test_one_seed_without_claims():
    fake = summary(seeds=1)
    fake["claims"] = fake["published"] = []
    assert "±" not in plain(fake)
    assert "verdict" not in plain(fake)
