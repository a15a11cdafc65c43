import io
import math
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from attnjax.lab.reporting.evidence import best, count, evidence
from attnjax.lab.reporting.number import estimate, interval, measured, number
from attnjax.lab.reporting.table import plain, table
from attnjax.lab.results.summary import Change, LeftOut, Row
from tests.reporting.fake import EXACT, changed_column, judged, summary


@pytest.mark.parametrize(
    "mean, deviation, shown",
    [
        (0.98523, 0.00263, "0.985 ± 0.003"),
        (0.98523, 0.0123, "0.985 ± 0.012"),
        (1021.4, 16.9, "1021 ± 17"),
        (1.0, 0.0, "1.000 ± 0"),
        (0.5, None, "0.5000"),
        (41.02, math.nan, "41.02"),
        (281306, 106426, "280,000 ± 110,000"),
        (281306, 6426, "281,000 ± 6000"),
        (1234.5, 300.0, "1200 ± 300"),
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
    assert interval(0.01, math.inf) == "at least 0.01"
    assert interval(-math.inf, -0.5) == "at most -0.5"
    assert interval(-math.inf, math.inf) == "anything"
    assert estimate(1.00312, 0.9912, 1.0151) == ("1.003", "0.991 to 1.015")
    assert estimate(0.25, -math.inf, math.inf) == ("0.2500", "anything")


def test_a_count_has_no_interval():
    claim = replace(summary().claims[0], basis="count", estimate=2.0, low=2.0, high=2.0)
    assert evidence(claim) == "2.000 (counted); wanted: 0.95 to 1.05, set by us"


def test_what_is_left_out_is_named_with_its_reason():
    assert "left out" not in plain(summary())
    gone = LeftOut(text="It helps.", reason="b was not run")
    text = plain(replace(summary(), figures_left_out=(gone,)))
    (line,) = [line for line in text.splitlines() if "It helps." in line]
    assert "b was not run" in line


def test_changes_stand_at_the_top():
    fake = summary()
    names = tuple(row.variant for row in fake.rows)
    changes = (
        Change(path="training.steps", file="6", run="2", variants=names),
        Change(path="model.width", file="8", run="4", variants=names[:1]),
    )
    lines = plain(replace(fake, changes=changes)).splitlines()
    assert lines[1:4] == [
        "changed from the experiment file:",
        "  training.steps: 2 (the file: 6)",
        "  model.width: 4 (the file: 8), in unscaled_16",
    ]


def test_every_row_shows_the_summary_s_numbers():
    fake = summary()
    lines = plain(fake).splitlines()
    for row in fake.rows:
        line = next(line for line in lines if line.strip().startswith(row.variant + " "))
        column = row.column(EXACT)
        assert column is not None
        assert measured(column.mean, column.deviation) in line
        assert f" {len(row.seeds)} " in line
        assert f"{row.parameters:,}" in line
        assert f"{row.seconds:.0f}" in line
    assert not any(line != line.rstrip() for line in lines)


def test_what_the_figures_mean_is_said_once():
    text = plain(summary())
    assert text.count("±: the standard deviation over seeds") == 1
    assert text.count("seconds: of training, all seeds together") == 1


def test_a_claim_says_what_its_verdict_rests_on():
    text = plain(summary(), verbose=True)
    for said in (
        "✓ reproduced",
        "1.003 (95 % over seeds: 0.991 to 1.015); wanted: 0.95 to 1.05, set by us",
        "by seed: 0: 1.00, 1: 1.00, 2: 1.01",
        "our own question",
        'section 3: "it <hurts>"; a reduced setting',
        "by seed: 0: 0.140, 1: 0.00100, 2: 0.141; seed 1 lies far off the others",
        "✗ not reproduced, exploratory",
        "0.100 (95 % over seeds and sentences: 0.060 to 0.140); wanted: at most -0.05, set by us",
    ):
        assert said in text
    fake = summary()
    few = replace(fake.claims[1], reason="fewer than 3 seeds")
    assert "undecided, because fewer than 3 seeds" in plain(
        replace(fake, judged=judged(few)), verbose=True
    )


def test_a_verdict_is_three_lines_that_name_what_keeps_it_from_another():
    fake = summary()
    few = replace(fake.claims[1], reason="fewer than 3 seeds")
    lines = plain(replace(fake, judged=judged(fake.claims[0], few), published=())).splitlines()
    begin = next(number for number, line in enumerate(lines) if "✓ reproduced" in line)
    assert fake.claims[0].text in lines[begin]
    assert lines[begin + 1].strip() == "1.003 (95 % over seeds: 0.991 to 1.015)"
    assert lines[begin + 2].strip() == "wanted: 0.95 to 1.05, set by us"
    assert few.text in lines[begin + 3]
    assert lines[begin + 5].endswith("set by us; undecided, because fewer than 3 seeds")
    assert "by seed" not in "".join(lines)


def of_test_split(row: Row, data: dict[str, str]) -> Row:
    return replace(row, records=tuple(replace(record, data=data) for record in row.records))


def test_the_best_is_one_of_those_with_the_same_test_set():
    fake = summary()
    assert best(fake, EXACT) == {"unscaled_16", '<b>&"x'}
    first, second, third = fake.rows
    alone = of_test_split(first, {"test": "2"})
    assert best(replace(fake, rows=(alone, second, third)), EXACT) == {'<b>&"x'}
    nobody = tuple(of_test_split(row, {}) for row in fake.rows)
    assert best(replace(fake, rows=nobody), EXACT) == set()
    few = changed_column(fake, 0, EXACT, values=(1.0, None, None))
    few = changed_column(few, 1, EXACT, values=(0.1, 0.2, math.nan))
    assert best(few, EXACT) == set(), "one row is left to compare: few seeds, or none, are no best"
    assert best(fake, fake.rows[0].columns[2].key) == set(), "it describes, and judges nothing"


def test_eighty_columns_lose_no_digit():
    fake = summary()
    console = Console(file=io.StringIO(), width=80, color_system=None)
    with console.capture() as capture:
        console.print(table(fake))
    text = capture.get()
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= 80
    for row in fake.rows:
        for column in row.columns:
            assert measured(column.mean, column.deviation) in text


def test_verdicts_of_several_machines_name_them():
    (first, *_) = summary().judged
    rows = {kind: replace(first.rows[""], machine=kind) for kind in ("x86_64-avx512-2", "h100-1")}
    text = plain(replace(summary(), judged=(replace(first, rows=rows),)))
    assert "reproduced, on h100-1" in " ".join(text.split())
    assert text.count("Variance <grows>.") == 2


def test_markup_in_names_is_text():
    fake = summary()
    named = replace(fake.rows[0], variant="[bold]x[/bold]")
    assert "[bold]x[/bold]" in plain(replace(fake, rows=(named,)))


def test_published_is_beside_ours():
    first, absent = summary().published
    assert first.ours is not None
    assert first.difference == first.ours - 0.98
    assert absent.difference is None
    (line,) = [line for line in plain(summary()).splitlines() if "never run" in line]
    assert line.split()[-3:] == ["41.02", "–", "–"]


def test_one_seed_without_claims():
    fake = replace(summary(seeds=1), judged=(), published=())
    assert "±" not in plain(fake)
    assert "verdict" not in plain(fake)


@pytest.mark.parametrize("width", [20, 30, 40, 60])
def test_a_narrow_screen_breaks_cells_and_leaves_nothing_out(width):
    """At 30 columns 0.4975 was 0.497 over 5, which reads as two numbers."""
    fake, console = summary(), Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(table(fake))
    text = capture.get()
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= width
    shown = text.split()
    for row in fake.rows:
        cells = [measured(column.mean, column.deviation) for column in row.columns]
        for cell in (*cells, count(row.parameters), count(row.seconds)):
            assert {*cell.split()} <= {*shown}, cell
