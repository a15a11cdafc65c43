"""The figure by source length."""

from dataclasses import replace

import pytest

from attnjax.evaluation.measurement import MetricKey
from attnjax.lab.reporting import page
from attnjax.lab.reporting.series import by_length, mechanism
from attnjax.lab.reporting.table import plain
from attnjax.lab.results.summary import Summary
from tests.reporting.fake import changed_column, column, summary

MEANS = [1.5, 3.5, 7.5, 14.5]


def quarter(number: int) -> MetricKey:
    return MetricKey("bleu", part=(number, 4))


@pytest.fixture
def parts() -> Summary:
    """Two variants scored by quarters, and one that was not."""
    fake = summary()
    rows = [*fake.rows]
    for place in (0, 1):
        more = [
            replace(
                column(quarter(number), [30.0 - number + seed for seed in range(3)], "higher"),
                length=length,
            )
            for number, length in enumerate(MEANS, start=1)
        ]
        rows[place] = replace(rows[place], columns=(*rows[place].columns, *more))
    return replace(fake, rows=tuple(rows))


def test_a_line_is_a_variant_at_the_mean_lengths_of_its_parts(parts):
    (panel,) = by_length(parts)
    assert panel.title == "bleu in 4 parts"
    first, second = panel.series
    assert [first.name, second.name] == ["unscaled_16", "unscaled_64"]
    assert first.places == second.places == MEANS
    assert first.values == [[29, 30, 31], [28, 29, 30], [27, 28, 29], [26, 27, 28]]
    assert first.means == [(length, 30.0 - n) for n, length in enumerate(MEANS)]
    some = changed_column(parts, 0, quarter(2), values=(None, float("nan"), 28.0))
    none = changed_column(some, 0, quarter(3), values=(None,))
    line, _ = by_length(none)[0].series
    assert line.values[1:3] == [[28.0], []]
    assert [length for length, _ in line.means] == [1.5, 3.5, 14.5]


def test_without_lengths_there_is_no_figure(parts, tmp_path):
    assert "By source length" in page.write(tmp_path, parts).read_text(encoding="utf-8")
    for place in (0, 1):
        for number in range(1, 5):
            parts = changed_column(parts, place, quarter(number), length=None)
    assert by_length(parts) == []
    assert "By source length" not in page.write(tmp_path, parts).read_text(encoding="utf-8")


def test_scores_by_length_are_no_mechanism(parts):
    (panel,) = mechanism(parts)
    assert (panel.title, panel.axis) == ("logit variance", "key width")
    assert [series.name for series in panel.series] == ["unscaled, initial", "unscaled, trained"]
    assert [series.slope for series in panel.series] == [1.0, None]


def test_the_page_and_the_table_show_the_parts(parts, tmp_path):
    text = page.write(tmp_path, parts).read_text(encoding="utf-8")
    assert 'aria-label="bleu in 4 parts by symbols of the source"' in text
    for shown in (text, plain(parts)):
        assert "bleu, part 4 of 4" in shown or "bleu, part 4 of\n4" in shown
