"""The figure by source length, and what else shows a claim over sentences."""

import numpy as np
import pytest

from attnjax.evaluation.sentence_stats import Sentences
from attnjax.reporting import page
from attnjax.reporting.lengths import lines
from attnjax.reporting.mechanism import panels
from attnjax.reporting.runs import folders
from attnjax.reporting.table import plain
from tests.reporting.fake import summary, write_runs

LENGTHS = np.array([3, 9, 1, 7, 2, 8, 4, 20])
"""Quartiles 1 and 2, 3 and 4, 7 and 8, 9 and 20."""
MEANS = [1.5, 3.5, 7.5, 14.5]


@pytest.fixture
def written(tmp_path):
    """Two variants by quartile, one of which kept no sentences with its first run."""
    fake = summary()
    write_runs(tmp_path, fake)
    for row in fake["rows"][:2]:
        for quartile in range(1, 5):
            name = f"bleu_quartile_{quartile}"
            row["values"][name] = [30.0 - quartile + seed for seed in range(row["n"])]
            row["mean"][name] = 31.0 - quartile
            row["standard_deviation"][name] = 1.0
        for run in row["runs"][fake["rows"].index(row) :]:
            Sentences(
                metric="bleu",
                protocol=None,
                lengths=LENGTHS,
                statistics=np.ones((len(LENGTHS), 10), np.int64),
            ).write(tmp_path / run)
    fake["metrics"] += [f"bleu_quartile_{quartile}" for quartile in range(1, 5)]
    quantity = {"kind": "length_gain", "metric": "bleu", "better": "a", "worse": "b"}
    fake["claims"].append(
        {
            "text": "Long sentences gain most.",
            "quantity": {**quantity, "interval": "sentences", "parts": 4},
            "estimate": 3.2,
            "low": 2.0,
            "high": 4.5,
            "region": [0.0, None],
            "verdict": "reproduced",
        }
    )
    return tmp_path, fake


def test_a_line_is_a_variant_at_the_mean_lengths_of_its_parts(written):
    folder, fake = written
    runs = {row["variant"]: folders(folder, row) for row in fake["rows"]}
    drawn = lines(fake, runs)
    assert list(drawn) == ["bleu quartile"]
    first, second = drawn["bleu quartile"]
    assert [first.variant, second.variant] == ["unscaled_16", "unscaled_64"]
    assert first.lengths == second.lengths == MEANS
    assert first.values == [[29, 30, 31], [28, 29, 30], [27, 28, 29], [26, 27, 28]]
    assert first.means == [(length, 30.0 - n) for n, length in enumerate(MEANS)]
    fake["rows"][0]["values"]["bleu_quartile_2"] = [None, float("nan"), 28.0]
    fake["rows"][0]["values"]["bleu_quartile_3"] = [None]
    (line, _) = lines(fake, runs)["bleu quartile"]
    assert line.values[1:3] == [[28.0], []]
    assert [length for length, _ in line.means] == [1.5, 3.5, 14.5]


def test_without_lengths_there_is_no_figure(written, tmp_path):
    folder, fake = written
    assert lines(fake, {row["variant"]: [] for row in fake["rows"]}) == {}
    assert "By source length" in page.write(folder, fake).read_text(encoding="utf-8")
    for path in folder.glob("*/sentences.json"):
        path.unlink()
    assert "By source length" not in page.write(folder, fake).read_text(encoding="utf-8")


def test_scores_by_length_are_no_mechanism(written):
    _, fake = written
    assert list(panels(fake)) == ["logit variance"]


def test_the_page_and_the_table_show_both(written):
    folder, fake = written
    text = page.write(folder, fake).read_text(encoding="utf-8")
    assert 'aria-label="bleu quartile by source length"' in text
    assert 'aria-label="Interval of: Long sentences gain most."' in text
    for shown in (text, plain(fake)):
        assert "3.2 (95 % over sentences: 2.0 to 4.5); claimed: at least 0" in shown
        assert "1.003 (95 %: 0.991 to 1.015)" in shown
        assert "bleu quartile 4" in shown
