import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from attnjax.evaluation.training_cost import TrainingCost
from attnjax.lab.reporting import embedded, figure, page, series
from attnjax.lab.reporting.number import measured
from attnjax.lab.reporting.page import costs
from attnjax.lab.reporting.runs import CurvePoint, folders, head_picture, losses, visible
from attnjax.lab.reporting.table import plain
from attnjax.lab.results.summary import Change, LeftOut, TunedPoint, TuningRow
from tests.reporting.fake import (
    ENDS_SCRIPT,
    ERROR,
    EXACT,
    INITIAL,
    changed_column,
    judged,
    lying_in,
    sentence,
    summary,
    write_runs,
)

VOID = {"meta", "br", "hr"}


class Page(HTMLParser):
    """Reads a page, and fails on a tag that is not closed, or closed by another."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append((self.open[-1] if self.open else "", data))

    def of(self, *tags: str) -> list[str]:
        return [data for tag, data in self.text if tag in tags]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    fake = write_runs(folder, summary())
    path = page.write(folder, fake)
    assert path == folder / "report.html"
    text = path.read_text(encoding="utf-8")
    return fake, text, Page(text)


def test_stands_alone(written):
    _, text, read = written
    style = text[: text.index("</style>")]
    assert not re.search(r"url\(|@import", style)
    assert "default-src 'none'" in style
    for tag, attributes in read.tags:
        assert tag not in {"link", "img", "iframe", "object"}
        assert not {"src", "href", "xlink:href"} & attributes.keys()
    identifiers = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


def test_every_text_is_escaped(written):
    _, _, read = written
    names = {tag for tag, _ in read.tags}
    assert not names & {"b", "i", "grows", "cpu"}
    # in three tables, beside the dots of two metrics, and over the curve
    assert len([text for text in read.of("th", "h3", "text") if text == '<b>&"x']) == 6
    assert '<b>&"x, seed-0: cross, head 1 of 2' in read.of("h3")
    assert read.of("h1") == ["Does <i>it</i> matter?"]
    assert "Somebody & others 2017." in read.of("p")
    assert 'The question "in full", a < b.' in read.of("p")
    assert "attnjax run x  # <code>" in read.of("pre")
    assert "attnjax run 'scaling and heads'" in read.of("pre")
    assert "<table> 3" in read.of("td")
    assert {"2 <CPU> cores", "0.12.0", "2026-01-31"} <= {*read.of("dd")}
    assert 'section 3: "it <hurts>"; a reduced setting' in read.of("p")


def test_no_text_ends_the_data_of_the_script(written):
    _, _, read = written
    assert [tag for tag, _ in read.tags].count("script") == 3
    data, *_ = read.of("script")
    assert "<" not in data
    content = json.loads(data)
    for seeds in content["attention"].values():
        assert [sentence["source"] for sentence in seeds["0"]][1] == ["a", ENDS_SCRIPT]
    (sentence,) = content["answers"]["sentences"]
    assert sentence["source"] == ENDS_SCRIPT
    assert sentence["answers"]["unscaled_16"] == ["right", 1.0]
    assert sentence["answers"]['<b>&"x'] == [ENDS_SCRIPT, 0.0]


def test_numbers_are_the_summary_s(written):
    fake, _, read = written
    cells = read.of("td")
    for row in fake.rows:
        for column in row.columns:
            assert measured(column.mean, column.deviation) in cells
        assert f"{row.parameters:,}" in cells
    said = read.of("p")
    assert "1.003 (95 % over seeds: 0.991 to 1.015); wanted: 0.95 to 1.05, set by us" in said
    far_off = "by seed: 0: 0.140, 1: 0.00100, 2: 0.141; seed 1 lies far off the others; no thousand"
    assert any(text.startswith(far_off) for text in said)
    assert "our own question" in said
    assert {"0.98", "41.02", "elsewhere"} <= set(cells)
    ours = fake.rows[1].column(EXACT).mean
    assert f"−{0.98 - ours:.3f}" in cells


def test_best_is_the_best(written):
    fake, text, _ = written
    best = re.findall(r'<td class="best">([^<]*)</td>', text)
    wanted = set()
    for key, choose in ((EXACT, max), (ERROR, min)):
        column = choose((row.column(key) for row in fake.rows), key=lambda column: column.mean)
        wanted.add(measured(column.mean, column.deviation))
    assert set(best) == wanted


def test_verdicts_and_figures(written):
    _, _, read = written
    verdicts = ["reproduced", "undecided", "not reproduced, exploratory"]
    assert [text for text in read.of("p") if text in ("✓ ", "✗ ", "? ")] == ["✓ ", "? ", "✗ "]
    assert [text for text in read.of("span") if text in verdicts] == verdicts
    figures = [attributes["aria-label"] for tag, attributes in read.tags if tag == "svg"]
    # an interval a claim, dots for the two judged metrics, one quantity of the mechanism, and for
    # each variant a curve and a picture
    assert len(figures) == 3 + 2 + 1 + 3 + 3
    assert read.of("h2") == [
        "Verdicts",
        "Results",
        "Attention",
        "Seeds",
        "The mechanism",
        "Learning curves",
        "Where two variants differ most",
        "Published beside ours",
        "Data and cost",
        "Run it again",
    ]
    shown = read.of("text")
    assert {"я", "␣", "ا", "日", "◌ั", "▫", '"', "∎", "&"} <= set(shown)
    assert {"unscaled, initial", "unscaled, trained"} <= set(shown)


def test_a_verdict_is_a_sentence_and_the_rest_is_folded(written):
    _, text, _ = written
    for item in re.findall(r"<li>\n<p class=\"verdict.*?</li>", text, re.DOTALL):
        shown, _, folded = item.partition("<details")
        assert "wanted: " in shown
        assert "by seed: " not in shown
        assert "by seed: " in folded
        # the parts that are copied as a table, in the order of its columns
        assert re.findall(r'data-cell="(\w+)"', item) == [
            *("verdict", "claim", "estimate", "interval", "wanted", "source")
        ]
    shown = re.sub(r"<[^>]*>", "", text)
    assert "difference of exact match: 0.10 (0.00 to 0.20); wanted: at least 0.05\n" in shown


def test_colors_are_the_page_s(written):
    _, text, read = written
    shapes = {a.get(key) for tag, a in read.tags for key in ("fill", "stroke") if tag != "rect"}
    shapes -= {None, "none", "transparent"}
    variables = {color for color in shapes if color != "currentColor"}
    assert variables
    for color in variables:
        name = re.fullmatch(r"var\((--\w+)\)", str(color))
        assert name, color
        assert text.count(f"{name[1]}:") == 2  # in the light and in the dark


def test_missing_parts_leave_out_their_section(tmp_path):
    fake = replace(summary(seeds=1), judged=(), published=(), environment=(), note="")
    for number in range(3):
        for key in (EXACT, ERROR):
            fake = changed_column(fake, number, key, better=None)
    read = Page(page.write(tmp_path, fake).read_text(encoding="utf-8"))
    assert read.of("h2") == ["Results", "Data and cost", "Run it again"]
    assert not [tag for tag, _ in read.tags if tag == "svg"]


def test_changes_and_what_is_left_out_are_said(tmp_path):
    fake = summary()
    names = tuple(row.variant for row in fake.rows)
    change = Change(path="task.folder", file="a", run="b & c", variants=names)
    gone = LeftOut(text="It <helps>.", reason="task.folder of x was changed")
    remark = "data: 1 of 2 test sources are <seen>"
    fake = replace(fake, changes=(change,), figures_left_out=(gone,), remarks=(remark,))
    text = page.write(tmp_path, fake).read_text(encoding="utf-8")
    said = Page(text).of("li")
    assert "task.folder: b & c (the file: a)" in said
    assert remark in said
    assert remark in plain(fake).splitlines()
    warned = re.findall(r'<div class="changes">.*?</div>', text, re.DOTALL)
    assert len(warned) == 1
    assert "&lt;seen&gt;" not in warned[0], "a plain note is no warning"
    assert "It <helps>.: task.folder of x was changed" in said


def test_one_seed_and_what_is_not_finite(tmp_path):
    fake = summary(seeds=1)
    nan, inf = float("nan"), float("inf")
    first = replace(fake.claims[0], low=-inf, high=inf, verdict="undecided")
    fake = replace(fake, judged=judged(first, replace(first, estimate=nan)))
    fake = changed_column(fake, 0, EXACT, values=(nan,))
    read = Page(page.write(tmp_path, fake).read_text(encoding="utf-8"))
    assert "not a number" in read.of("td")
    assert "1.003 (no interval); wanted: 0.95 to 1.05, set by us" in read.of("p")
    figures = [attributes["aria-label"] for tag, attributes in read.tags if tag == "svg"]
    assert figures == ["logit variance by key width"], "no interval, and no dots of one seed"
    said = "".join(read.of("td", "p"))
    assert not re.search("±|deviation", said)
    assert "NaN" not in "".join(str(attributes) for _, attributes in read.tags)


def test_the_data_of_the_pages_script_are_json(tmp_path, monkeypatch):
    """A score of one's own that is not finite would leave the page without its figures."""
    values = {"sentences": [{"answers": {"a": ["x", math.nan]}}], "seed": "0", "score": "own"}
    monkeypatch.setattr(embedded, "answers", lambda _: values)
    text = page.write(tmp_path, summary()).read_text(encoding="utf-8")
    data = text.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    assert json.loads(data, parse_constant=pytest.fail)["answers"]["sentences"] == [
        {"answers": {"a": ["x", None]}}
    ]


def test_a_curve_is_the_mean_over_seeds_and_their_range(tmp_path):
    fake = write_runs(tmp_path, summary())
    runs = folders(fake.rows[0])
    assert len(runs) == 3
    for split in ("train", "valid"):
        points = losses(runs, split)
        assert points[0] == (10, pytest.approx(1.9), pytest.approx(0.9), pytest.approx(2.9))
        assert points[-1].step == 30
    assert folders(summary().rows[0]) == []
    gone = lying_in(tmp_path / "gone", fake.rows[0].records[0])
    assert folders(replace(fake.rows[0], records=(gone,))) == []


def test_the_band_of_a_curve_is_drawn_to_its_ends():
    """Also where it reaches beyond every mean."""
    points = [CurvePoint(1, 2.0, 1.0, 9.0), CurvePoint(2, 1.5, 0.5, 8.0)]
    text = figure.learning("a", {"a": points}, {})
    area, *_ = re.findall(r'mark-area[^>]*>.*?<path[^>]* d="([^"]*)"', text)
    heights = [float(y) for _, y in re.findall(r"([\d.]+),([\d.]+)", area)]
    assert min(heights) < 5, "the greatest loss is at the top"
    assert max(heights) == pytest.approx(150), "and the least at the bottom"


@pytest.mark.parametrize(
    "words", [("if", "a", "b"), ("'];alert(1)//", "datum", "return", "\\u0022")]
)
def test_words_that_mean_something_to_vega_are_only_labels(words):
    kept = sentence(*words)
    text = figure.attention("x", head_picture(kept, kept.layers[1], 0))
    found = Page(text)
    assert set(words) <= set(found.of("text"))


def test_a_word_that_occurs_twice_stands_twice():
    kept = sentence("the", "cat", "the")
    labels = Page(figure.attention("x", head_picture(kept, kept.layers[1], 0))).of("text")
    assert labels.count("the") == 2


def test_a_single_value_stands_over_itself():
    labels = Page(figure.seeds("x", {"a": [0.004, 0.004]})).of("text")
    assert "0.004" in labels
    assert "0" not in labels


def test_a_figure_that_cannot_be_drawn_leaves_out_itself(tmp_path, monkeypatch):
    def broken(*_: object) -> None:
        raise ValueError("no such <mark>")

    monkeypatch.setattr(figure, "seeds", broken)
    fake = write_runs(tmp_path, summary())
    read = Page(page.write(tmp_path, fake).read_text(encoding="utf-8"))
    said = [text for text in read.of("p") if "could not be drawn" in text]
    assert said == ["This figure could not be drawn: ValueError: no such <mark>"] * 2
    assert len([tag for tag, _ in read.tags if tag == "svg"]) == 3 + 1 + 3 + 3


def test_what_vega_refuses_is_a_value_error():
    with pytest.raises(ValueError):  # noqa: PT011 - the words are Vega's
        figure.svg({"mark": "no such mark"}, "x")


def test_the_axis_of_a_slope_is_its_own():
    (panel,) = series.mechanism(summary())
    wide = replace(panel, axis="sentence length")
    assert "sentence length" in Page(figure.lines(wide)).of("text")
    assert "key width" not in Page(figure.lines(wide)).of("text")
    assert INITIAL.name.replace("_", " ") == panel.title


def test_visible():
    assert [visible(token) for token in ("a b", "\u0301", "", "\n")] == ["a␣b", "◌\u0301", "∅", "▫"]


def test_a_tuned_variant_has_its_losses_and_its_choice(tmp_path):
    tried = zip((0.001, 0.01, 0.1), (0.5, 0.25, math.inf), strict=True)
    tuned = TuningRow(
        variant="<b>",
        seeds=(7,),
        fields=("optimizer.schedule.peak",),
        points=tuple(TunedPoint(values=(rate,), losses=(loss,)) for rate, loss in tried),
        chosen=(0.01,),
    )
    narrow = replace(tuned, points=tuned.points[:2])
    fake = replace(write_runs(tmp_path, summary()), tunings=(tuned, narrow))
    read = Page(page.write(tmp_path, fake).read_text(encoding="utf-8"))
    assert "Tuning" in read.of("h2")
    cells = read.of("td")
    assert [cell for cell in cells if cell in ("0.5000", "0.2500", "diverged")] == [
        "0.5000",
        "0.2500",
        "diverged",
        "0.5000",
        "0.2500",
    ]
    assert "0.01" in cells
    assert "0.01, at the grid's edge: the best may lie beyond" in cells
    (caption,) = [
        text for text in read.of("p") if "value of optimizer.schedule.peak: tuned" in text
    ]
    assert "by the lowest validation loss, seed 7" in caption
    two = replace(
        tuned,
        fields=("a.rate", "b.dropout"),
        points=tuple(
            TunedPoint(values=pair, losses=(1.0,)) for pair in ((1, 0), (1, 1), (2, 0), (3, 0))
        ),
        chosen=(2, 0),
    )
    assert two.edges == ["b.dropout"]


def test_a_page_of_many_runs_has_fewer_sentences_unless_more_are_asked_for(tmp_path, monkeypatch):
    fake = write_runs(tmp_path, summary())
    runs = {row.variant: folders(row) for row in fake.rows}
    monkeypatch.setattr(embedded, "_BYTES", 500)
    for count, kept in ((None, 1), (2, 2)):
        seeds = embedded.attentions(runs, count)["unscaled_16"]
        assert [len(sentences) for sentences in seeds.values()] == [kept] * 3


def test_a_text_without_a_target_has_no_number_of_target_symbols():
    sizes = (("train", 1_200), ("test", 30))
    cost = TrainingCost(steps=9, flops=4e9, shape=(8, 5, 0), tokens=0.0, examples=sizes)
    first = summary().rows[0]
    shown = costs(replace(first, records=(lying_in(Path(), first.records[0], cost),)), [])
    assert shown["examples train / valid / test"] == "1,200 / – / 30"
    assert shown["largest batch B × S × T"] == "8 × 5 × 0"
    assert [shown[f"{name} a step"] for name in ("tokens", "FLOPs")] == ["–", "4.00e+09"]
