"""The page of results is made of records alone, and its first table of papers' claims."""

import math
import re
import runpy
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from attnjax.experiment import Claim
from attnjax.experiment.claims import KINDS
from attnjax.experiment.load import ExperimentFile, load
from attnjax.lab.cli.main import main
from attnjax.lab.reporting.recorded import Recorded, of_shipped
from attnjax.lab.reporting.tally import tally
from attnjax.lab.results.description import with_setting
from attnjax.lab.results.lines import read_records
from attnjax.lab.results.summary import Row
from attnjax.lab.runs.catalog import find, names
from results_page.found import findings
from results_page.page import differences, draw as draw_all, page, why_unrecorded
from results_page.picture import MARK, STYLE, SeedDots, draw, shown

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "docs" / "programs" / "results.py"
PLACE = re.compile("Table|Figure|section|theorem|footnote|abstract|README", re.IGNORECASE)
QUOTED = re.compile(r'".+"|.*\d.*')
"""Literal words, or numbers."""


@pytest.fixture(scope="module")
def experiments() -> list[Recorded]:
    return of_shipped(read_records(ROOT / "records"))


@pytest.fixture(scope="module")
def files() -> list[ExperimentFile]:
    return [load(find(name)) for name in names()]


def test_the_page_of_results_is_that_of_the_records(tmp_path):
    """A picture that would have to be drawn again differs: it says which numbers it shows."""
    made = ("docs/results.md", "README.md", "experiments/reruns.json")
    shutil.copytree(ROOT / "docs" / "results", tmp_path / "docs" / "results")
    shutil.copy(ROOT / "README.md", tmp_path)
    (tmp_path / "experiments").mkdir()
    runpy.run_path(str(PROGRAM))["write"](tmp_path)
    for path in made:
        assert (tmp_path / path).read_text() == (ROOT / path).read_text(), "run `make docs`"
    assert contents(tmp_path / "docs" / "results") == contents(ROOT / "docs" / "results")


def test_the_command_shows_the_verdict_of_every_claim(tmp_path, monkeypatch, capsys, experiments):
    """Without a folder of records here, those of attnjax are judged."""
    monkeypatch.chdir(tmp_path)
    assert main(["results"]) == 0
    *rows, last = capsys.readouterr().out.splitlines()
    shown = [row for row in rows if "  " in row]
    names = [with_setting(one.loaded) for one in experiments]
    claims = sum(max(1, len(one.summary.judged)) for one in experiments)
    assert len(shown) == 1 + claims
    assert {row.partition("  ")[0] for row in shown[1:]} == {*names}
    assert last == tally(experiments)
    assert not [*tmp_path.iterdir()]


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_only_what_has_claims_is_called_exploratory():
    blocks = (ROOT / "docs" / "results.md").read_text().split("\n## ")
    called = [block for block in blocks if "\nExploratory:" in block]
    assert called
    assert all("| claim |" in block for block in called)


def test_readme_has_three_rows_of_the_first_table():
    readme = (ROOT / "README.md").read_text()
    table = (ROOT / "docs" / "results.md").read_text().partition("\n## ")[0]
    marks = set(re.findall(r"<!-- finding of (\S+): ([^>]+?) -->", readme))
    assert len(marks) == 3
    for experiment, claim in marks:
        assert re.search(rf"\| {re.escape(claim)} \|.*`attnjax run {experiment}", table)


def test_a_source_says_the_paper_and_the_place(files):
    claims = [claim for file in files for claim in claims_of(file)]
    sources = [claim.source for claim in claims if claim.source is not None]
    assert len(sources) > 60
    assert not [place for place in sources if ", " not in place or PLACE.match(place)]
    assert not [place for place in sources if ": " in place or "our words" in place]


def test_what_is_printed_is_numbers_or_literal_words(files):
    quotes = {claim.quote for file in files for claim in claims_of(file) if claim.quote}
    assert len(quotes) > 30
    assert not [quote for quote in quotes if not QUOTED.fullmatch(quote) or "set by us" in quote]


def claims_of(file: ExperimentFile) -> list[Claim]:
    settings = file.ablation.settings.values()
    return [*file.ablation.claims, *(claim for setting in settings for claim in setting.claims)]


def test_the_first_table_has_the_claims_of_papers_with_their_runs(experiments):
    one = next(each for each in experiments if each.loaded.name == "bahdanau2015")
    (row, _) = findings([one])
    assert row.place == "Bahdanau et al. 2015, section 5.1"
    assert row.printed == '"the proposed RNNsearch outperforms the conventional RNNencdec"'
    assert row.command == "attnjax run bahdanau2015"
    assert "5 seeds" in row.ours
    # our own question has no row, nor has a claim that waits for runs
    ours, other = (replace(judged, kind=None, source=None) for judged in one.summary.judged)
    own = replace(one, summary=replace(one.summary, judged=(ours, other)))
    assert findings([own]) == []
    waiting = tuple(replace(judged, rows={}) for judged in one.summary.judged)
    assert findings([replace(one, summary=replace(one.summary, judged=waiting))]) == []
    # those of exact counts share a row
    counted = next(each for each in experiments if each.loaded.name == "complexity")
    (row,) = findings([counted])
    assert row.verdict == "✓ 18, ✗ 0"


def test_no_verdict_moves_a_row_or_leaves_it_out(experiments):
    rows = findings(experiments)
    kinds = [row.kind for row in rows]
    assert [*dict.fromkeys(kinds)] == ["figure", "setting", "reduced", "stand-in"]
    assert kinds == sorted(kinds, key=KINDS.index)
    judged = [one for each in experiments for one in each.summary.judged]
    shown = [one for one in judged if one.kind and one.weakest and one.weakest.basis != "count"]
    assert {one.text for one in shown} <= {row.text for row in rows}
    first, below = page(experiments).split("\n## Statements tried on small tasks\n")
    below, *_ = below.split("\n## ")
    for row in rows:
        assert row.cells[-1] in (below if row.kind == "stand-in" else first)
    assert "? undecided" in first
    assert "– not trained" in first


def test_a_printed_figure_is_told_in_the_unit_of_ours(experiments):
    one = next(each for each in experiments if each.loaded.name == "gpt_lecture")
    (row,) = findings([one])
    assert row.kind == "figure"
    assert row.printed == "step 4999, val loss 1.8222; that is 2.6289 bits per character"
    assert row.ours.startswith("bits per character: ")


def test_a_file_says_why_it_has_no_records(files, experiments):
    """And no longer says so when it has some."""
    own = [one for one in experiments if one.loaded.setting is None]
    recorded = {one.loaded.name for one in own if one.summary.records}
    assert {file.name for file in files if not why_unrecorded(file)} == recorded


def test_what_is_left_out_and_what_differs_is_on_the_page(files, experiments):
    one = experiments[0]
    ablation = replace(one.loaded.ablation, given_up={"that it sings": "nothing is heard"})
    found = replace(one, loaded=replace(one.loaded, ablation=ablation))
    assert "- that it sings: nothing is heard" in page([found])
    differing = next(file for file in files if file.name == "sutskever2014")
    assert differences(differing)
    shared = next(file for file in files if file.name == "bahdanau2015")
    assert {row[0] for row in differences(shared)} == {"bahdanau2015, paper and paper_30"}
    text = page([found], files)
    for _, what, theirs, ours in differences(differing):
        assert f"| sutskever2014, paper | {what} | {theirs} | {ours} |" in text


def test_every_setting_called_paper_says_in_what_it_differs(files):
    papers = {
        (file.name, name): setting.differs
        for file in files
        for name, setting in file.ablation.settings.items()
        if name.startswith(("paper", "nanogpt"))
    }
    assert len(papers) > 10
    assert not [names for names, differs in papers.items() if not differs]


def test_without_claims_the_metric_of_most_variants_is_drawn(experiments):
    """BERT's readings are judged by hidden words, and what they are for by questions."""
    one = next(each for each in experiments if each.loaded.name == "bert")
    drawn = shown(one)
    assert isinstance(drawn, SeedDots)
    assert drawn.metric == "exact match"
    assert list(drawn.values) == ["verse", "scratch", "after_prose", "after_verse"]


def test_a_picture_is_drawn_again_if_its_numbers_change(tmp_path, monkeypatch):
    drawn = []

    def instead(metric, columns):
        drawn.append(metric)
        return '<svg role="img">of the numbers</svg>'

    monkeypatch.setattr("attnjax.lab.reporting.figure.dots", instead)
    dots, path = SeedDots(metric="bleu", values={"a": [1.0, 2.0]}), tmp_path / "a.svg"
    assert draw(dots, path)
    assert draw(dots, path)
    assert len(drawn) == 1
    assert '<svg xmlns="http://www.w3.org/2000/svg" role="img"><style>' in path.read_text()
    # a rounding of another processor is no other number
    assert draw(replace(dots, values={"a": [1.0 + 1e-12, 2.0]}), path)
    assert len(drawn) == 1
    assert draw(replace(dots, values={"a": [1.0, 2.5]}), path)
    assert len(drawn) == 2
    path.write_bytes(b"\xff\xfe")  # another program's
    assert draw(dots, path)
    assert len(drawn) == 3


def test_a_picture_defines_every_color_that_a_figure_may_have():
    """Of a page the colors are in its style; a picture stands alone."""
    reporting = ROOT / "attnjax" / "lab" / "reporting"
    figures = (path.read_text() for path in (reporting / "figures").glob("*.json"))
    used = {color for figure in figures for color in re.findall(r"var\((--\w+)\)", figure)}
    assert {"--accent", "--paper"} <= used
    of_pages = (reporting / "style.css").read_text()
    for alone, of_page in zip(STYLE.split("@media"), of_pages.split("@media"), strict=False):
        colors = re.findall(r"(--\w+): (#\w+);", alone)
        assert used <= {name for name, _ in colors}
        assert set(colors) <= set(re.findall(r"(--\w+): (#\w+);", of_page))


def test_a_picture_shows_what_the_claims_are_about(experiments):
    content = {one.loaded.name: shown(one) for one in experiments}
    assert getattr(content["normalization"], "axis", "") == "layers"
    assert getattr(content["bahdanau2015"], "axis", "") == "symbols of the source"
    dots = content["xu2015"]
    assert isinstance(dots, SeedDots)
    assert dots.metric == "region accuracy"
    assert all(len(values) == 5 for values in dots.values.values())


@pytest.mark.parametrize("name", ["normalization", "bahdanau2015", "xu2015"])
def test_numbers_that_are_not_finite_are_not_drawn(experiments, name):
    one = next(each for each in experiments if each.loaded.name == name)

    def unknown(row: Row) -> Row:
        columns = (replace(of, values=(math.nan,) * len(of.values)) for of in row.columns)
        return replace(row, columns=tuple(columns), by_length=())

    rows = tuple(map(unknown, one.summary.rows))
    assert shown(replace(one, summary=replace(one.summary, rows=rows))) is None


def test_only_pictures_of_ours_are_removed(tmp_path, monkeypatch, experiments):
    monkeypatch.setattr("results_page.picture.draw", lambda content, path: False)
    theirs, ours = tmp_path / "results" / "logo.svg", tmp_path / "results" / "gone.svg"
    theirs.parent.mkdir()
    theirs.write_text("<svg/>")
    ours.write_text(MARK.format("0" * 8) + "<svg/>")
    assert draw_all(experiments[:1], tmp_path / "results") == {}
    assert [*theirs.parent.iterdir()] == [theirs]


def test_a_picture_that_cannot_be_drawn_is_left_out(tmp_path, monkeypatch):
    def fails(metric, columns):
        raise ValueError("a limit of memory")

    monkeypatch.setattr("attnjax.lab.reporting.figure.dots", fails)
    assert not draw(SeedDots(metric="bleu", values={"a": [1.0]}), tmp_path / "a.svg")
    assert not [*tmp_path.iterdir()]
