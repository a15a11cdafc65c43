import json
import re
from html.parser import HTMLParser

import pytest

from attnjax.reporting import page
from attnjax.reporting.number import measured
from attnjax.reporting.runs import curve, folders, picture, visible
from tests.reporting.fake import summary, write_runs

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
    fake = summary()
    write_runs(folder, fake)
    fake = json.loads(json.dumps(fake))
    path = page.write(folder, fake)
    assert path == folder / "report.html"
    text = path.read_text(encoding="utf-8")
    return fake, text, Page(text)


def test_stands_alone(written):
    _, text, read = written
    assert "http" not in text
    assert not re.search(r"url\(|@import", text)
    for tag, attributes in read.tags:
        assert tag not in {"script", "link", "img", "iframe", "object"}
        assert not {"src", "href", "xlink:href"} & attributes.keys()
    identifiers = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


def test_every_text_is_escaped(written):
    _, _, read = written
    names = {tag for tag, _ in read.tags}
    assert not names & {"b", "i", "grows", "cpu"}
    # in two tables, beside the dots of two metrics, over the curve and over the picture
    assert len([text for text in read.of("th", "h3", "text") if text == '<b>&"x']) == 6
    assert read.of("h1") == ["Does <i>it</i> matter?"]
    assert "Somebody & others 2017." in read.of("p")
    assert 'The question "in full", a < b.' in read.of("p")
    assert "attnjax run x  # <code>" in read.of("pre")
    assert "attnjax run 'scaling and heads'" in read.of("pre")
    assert "<table> 3" in read.of("td")
    assert "2 <CPU> cores; jax 0.12.0; 2026-01-31" in read.of("p")


def test_numbers_are_the_summary_s(written):
    fake, _, read = written
    cells = read.of("td")
    for row in fake["rows"]:
        for metric, mean in row["mean"].items():
            assert measured(mean, row["standard_deviation"][metric]) in cells
        assert f"{row['parameters']:,}" in cells
    assert "1.003 (95 %: 0.991 to 1.015); claimed: 0.95 to 1.05" in read.of("p")
    assert "0.100 (95 %: 0.060 to 0.140); claimed: at most −0.05" in read.of("p")
    assert {"0.98", "41.02", "elsewhere"} <= set(cells)
    ours = fake["rows"][1]["mean"]["exact_match"]
    assert f"−{0.98 - ours:.3f}" in cells


def test_best_is_the_best(written):
    fake, text, _ = written
    best = re.findall(r'<td class="best">([^<]*)</td>', text)
    wanted = set()
    for metric, choose in (("exact_match", max), ("alignment_error", min)):
        row = choose(fake["rows"], key=lambda row: row["mean"][metric])
        wanted.add(measured(row["mean"][metric], row["standard_deviation"][metric]))
    assert set(best) == wanted


def test_verdicts_and_figures(written):
    _, _, read = written
    verdicts = [text for text in read.of("p") if text[:2] in ("✓ ", "✗ ", "? ")]
    assert verdicts == ["✓ reproduced", "? undecided", "✗ not reproduced"]
    figures = [attributes["aria-label"] for tag, attributes in read.tags if tag == "svg"]
    # an interval a claim, dots for the two judged metrics, one quantity of the mechanism, and for
    # each variant a curve and a picture
    assert len(figures) == 3 + 2 + 1 + 3 + 3
    assert read.of("h2") == [
        "Verdicts",
        "Results",
        "The mechanism",
        "Learning curves",
        "Attention",
        "Published beside ours",
        "Run it again",
    ]
    shown = read.of("text")
    assert {"я", "␣", "ا", "日", "◌ั", "▫", '"', "∎", "&"} <= set(shown)
    assert {"unscaled, initial", "unscaled, trained"} <= set(shown)


def test_colours_are_the_page_s(written):
    _, text, read = written
    shapes = {a.get(key) for tag, a in read.tags for key in ("fill", "stroke") if tag != "rect"}
    shapes -= {None, "none", "transparent"}
    variables = {colour for colour in shapes if colour != "currentColor"}
    assert variables
    for colour in variables:
        name = re.fullmatch(r"var\((--\w+)\)", str(colour))
        assert name, colour
        assert text.count(f"{name[1]}:") == 2  # in the light and in the dark


def test_missing_parts_leave_out_their_section(tmp_path):
    fake = summary(seeds=1)
    for key in ("claims", "published", "versions", "device", "note", "better"):
        del fake[key]
    fake["rows"][0]["mean"]["exact_match"] = None
    fake["rows"][1]["mean"] = {}
    read = Page(page.write(tmp_path, fake).read_text(encoding="utf-8"))
    assert read.of("h2") == ["Results", "Run it again"]
    assert not [tag for tag, _ in read.tags if tag == "svg"]
    assert "–" in read.of("td")


def test_one_seed_and_what_is_not_finite(tmp_path):
    fake = summary(seeds=1)
    del fake["claims"][1:]
    fake["claims"][0].update(low=None, high=None, verdict="undecided")
    fake["rows"][0]["values"]["exact_match"] = [float("nan")]
    fake["rows"][0]["mean"]["exact_match"] = float("nan")
    fake["claims"].append(fake["claims"][0] | {"estimate": float("nan")})
    read = Page(page.write(tmp_path, fake).read_text(encoding="utf-8"))
    assert "not a number" in read.of("td")
    assert "1.003 (95 %: anything); claimed: 0.95 to 1.05" in read.of("p")
    assert "NaN" not in "".join(str(attributes) for _, attributes in read.tags)


def test_curve_is_the_mean_over_seeds(tmp_path):
    fake = summary()
    write_runs(tmp_path, fake)
    runs = folders(tmp_path, fake["rows"][0])
    assert len(runs) == 3
    first, *_, last = curve(runs)
    assert (first.step, first.mean, first.deviation) == (10, pytest.approx(9 / 10 + 1), 1.0)
    assert last.step == 30
    found = picture(runs)
    assert found is not None
    assert found["gold"] == [[1, 2], []]
    assert folders(tmp_path, {"variant": "x", "runs": ["gone"]}) == []


def test_visible():
    assert [visible(token) for token in ("a b", "\u0301", "", "\n")] == ["a␣b", "◌\u0301", "∅", "▫"]
