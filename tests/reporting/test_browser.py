"""The page in a browser: every control, on a wide screen, a phone, in the dark, and on paper."""

import base64
import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect, sync_playwright

from attnjax.config.serialize import to_json
from attnjax.lab.reporting import page
from tests.reporting.fake import ENDS_SCRIPT, sentence, summary, write_runs

CHROMIUM = shutil.which("chromium")
FLAGS = [
    f"--{name}"
    for name in (
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
    )
]
SCREENS = {"wide": (1200, "light"), "phone": (390, "light"), "dark": (1200, "dark")}

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: make test-page"),
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of three variants: the second classifies, the third one's source is an image."""
    folder = tmp_path_factory.mktemp("experiment")
    fake = write_runs(folder, summary())
    file = io.BytesIO()
    Image.new("RGB", (8, 8), (255, 0, 0)).save(file, "PNG")
    patches = tuple(map(str, range(4)))
    image = replace(
        sentence(*patches), image=base64.b64encode(file.getvalue()).decode(), grid=(2, 2)
    )
    label = replace(sentence("good", "film"), target=("5",), gold=())
    for row, kept in ((fake.rows[1], label), (fake.rows[2], image)):
        for run in row.runs:
            (folder / run / "attention.json").write_text(json.dumps(to_json((kept,))))
    return page.write(folder, fake)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(params=SCREENS)
def opened(request: pytest.FixtureRequest, written: Path, chromium: Any) -> Iterator[Any]:
    """The page on a screen; an error on its console, or a request, fails."""
    width, scheme = SCREENS[request.param]
    context = chromium.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        permissions=["clipboard-read", "clipboard-write"],
    )
    tab, wrong = context.new_page(), []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    tab.on("dialog", lambda dialog: wrong.append(dialog.message))
    tab.on("request", lambda asked: wrong.append(asked.url) if asked.url[:4] == "http" else None)
    tab.goto(written.as_uri())
    tab.wait_for_selector("#attention svg.map")
    yield tab
    assert wrong == []
    context.close()


def chosen(tab: Any, room: str, name: str) -> list[str]:
    return [
        option.inner_text() for option in tab.query_selector_all(f"{room} [name={name}] option")
    ]


def test_the_reader_chooses_what_is_drawn(opened):
    assert chosen(opened, "#attention", "variant") == ["unscaled_16", "unscaled_64", '<b>&"x']
    assert chosen(opened, "#attention", "seed") == ["0", "1", "2"]
    assert chosen(opened, "#attention", "layer") == ["cross", "encoder"]
    caption = opened.locator("[data-view=caption]")
    expect(caption).to_contain_text("cross, head 1 of 2, unscaled_16, seed 0, test sentence 1.")
    opened.select_option("#attention [name=seed]", "2")
    opened.select_option("#attention [name=head]", label="2")
    expect(caption).to_contain_text("head 2 of 2, unscaled_16, seed 2")
    opened.select_option("#attention [name=sentence]", index=1)
    expect(opened.locator("svg.map")).to_contain_text(ENDS_SCRIPT[:15])
    opened.select_option("#attention [name=layer]", label="encoder")
    expect(caption).to_contain_text("encoder, head 1 of 1")
    opened.reload()
    opened.wait_for_selector("svg.map")
    expect(caption).to_contain_text("encoder, head 1 of 1, unscaled_16, seed 2")


def test_a_head_is_chosen_among_all_and_a_word_shows_its_lines(opened):
    assert opened.locator("[data-view=heads] button").count() == 2
    opened.click("[data-view=heads] button >> nth=1")
    expect(opened.locator("[data-view=caption]")).to_contain_text("head 2 of 2")
    expect(opened.locator("svg.words line")).to_have_count(10)  # to the last word, and to all nine
    opened.hover("svg.words text >> nth=0")
    expect(opened.locator("svg.words line:not(.away)")).to_have_count(1)
    opened.focus("svg.words text >> nth=1")
    expect(opened.locator("[data-view=reading]")).to_have_text("∎")
    opened.hover("svg.map image", force=True)
    expect(opened.locator("[data-view=reading]")).to_contain_text(" → ")


def test_only_what_a_decoder_is_given_is_called_so(opened):
    caption = opened.locator("[data-view=caption]")
    expect(caption).to_contain_text("Rows: words of the reference (which the decoder is given;")
    opened.select_option("#attention [name=variant]", "unscaled_64")
    expect(caption).to_contain_text("Rows: the right label. Columns: the source.")


def test_weights_lie_on_an_image(opened):
    opened.select_option("#attention [name=variant]", '<b>&"x')
    words = opened.locator("[data-view=patches] figcaption")
    expect(words).to_have_text(["&", "∎"])
    expect(opened.locator("[data-view=patches] rect")).to_have_count(2 * 4)


def test_curves_are_zoomed_and_compared(opened):
    ticks = "#curves g.mark-group.role-scope >> nth=0 >> .role-axis-label text"
    view = opened.wait_for_selector("#curves svg.marks")
    for name in ("curve", "seeds", "axis"):
        for option in chosen(opened, "#curves", name):
            opened.select_option(f"#curves [name={name}]", label=option)
    view = opened.wait_for_selector("#curves svg.marks")
    before = opened.locator(ticks).all_text_contents()
    view.scroll_into_view_if_needed()
    box = view.bounding_box()
    height = box["y"] + box["height"] - 55
    opened.mouse.move(box["x"] + 0.4 * box["width"], height)
    opened.mouse.down()
    opened.mouse.move(box["x"] + 0.6 * box["width"], height, steps=4)
    opened.mouse.up()
    opened.wait_for_timeout(300)
    assert opened.locator(ticks).all_text_contents() != before
    opened.click("#curves button")
    opened.click("#curves .role-legend-symbol path >> nth=0", force=True)
    opened.wait_for_timeout(300)
    faint = opened.locator("#curves .mark-line path").evaluate_all(
        "all => all.filter((line) => line.getAttribute('opacity') === '0.1').length"
    )
    assert faint > 0


def test_variants_are_compared_sentence_by_sentence(opened):
    (row,) = opened.locator("#answers tbody tr").all_inner_texts()
    assert row.split("\t")[:2] == [f"1: {ENDS_SCRIPT}", "right"]
    opened.select_option("#answers [name=one]", '<b>&"x')
    opened.select_option("#answers [name=other]", "unscaled_64")
    expect(opened.locator("#answers tbody tr")).to_have_count(0)
    expect(opened.locator("[data-view=none]")).to_be_visible()


@pytest.mark.parametrize(
    ("section", "columns", "row"),
    [
        ("Results", "lrrrrr", ("unscaled_16", "0.889 ± 0.005", "100,016")),
        ("Published beside ours", "lllrrrl", ("A & B 2017, Table <3>", "never run", "41.02")),
        (
            "Verdicts",
            "llrlll",
            ("undecided", "It hurts.", "0.10", "0.00 to 0.20", "at least 0.05", "section 3"),
        ),
    ],
)
def test_verdicts_and_tables_are_copied(opened, section, columns, row):
    room = opened.locator("section", has=opened.get_by_role("heading", name=section, exact=True))
    for form, beginning in (
        ("Markdown", "| "),
        ("LaTeX", f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n"),
    ):
        room.get_by_text(f"copy as {form}").first.click()
        expect(room.get_by_text(f"copied as {form}")).to_be_visible()
        text = opened.evaluate("navigator.clipboard.readText()")
        assert text.startswith(beginning)
        for cell in row:
            if form == "LaTeX":
                signs = {"&": "\\&", "_": "\\_", "<": "$<$", ">": "$>$", "±": "$\\pm$"}
                cell = "".join(signs.get(letter, letter) for letter in cell)
            assert cell in text
    assert "copy as" not in text
    assert "details" not in text


def test_nothing_is_wider_than_the_screen(opened):
    width = opened.viewport_size["width"]
    assert opened.evaluate("document.documentElement.scrollWidth") <= width


def test_a_verdict_fits_the_screen_and_its_rest_is_folded(opened):
    screen = opened.viewport_size
    for verdict in opened.locator(".verdicts li").all():
        box = verdict.bounding_box()
        assert box["x"] + box["width"] <= screen["width"]
        assert box["height"] <= screen["height"] / 2
        rest = verdict.locator("[data-cell=source]")
        expect(rest).to_be_hidden()
        verdict.locator("summary").click()
        expect(rest).to_be_visible()
        assert verdict.bounding_box()["height"] <= screen["height"]


def test_the_first_screens_are_verdicts_results_and_attention(opened):
    headings = opened.locator("h2").all()
    assert [each.inner_text() for each in headings[:3]] == ["Verdicts", "Results", "Attention"]
    screens = opened.viewport_size["height"] * (2 if opened.viewport_size["width"] > 900 else 3)
    assert headings[2].bounding_box()["y"] < screens


def test_nothing_is_cut_on_paper(opened):
    opened.emulate_media(media="print")
    opened.set_viewport_size({"width": 720, "height": 1000})
    beyond = opened.locator("table, svg").evaluate_all(
        "all => all.filter((part) => part.getBoundingClientRect().right > 721).length"
    )
    assert beyond == 0
    expect(opened.locator("[data-cell=source]").first).to_be_visible()  # nothing is folded
    assert opened.pdf(format="A4")[:4] == b"%PDF"


def test_what_needs_no_script_is_drawn_without(written, chromium):
    context = chromium.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(written.as_uri())
    assert tab.locator("svg").count() == 3 + 2 + 1 + 3 + 3
    assert tab.locator(".still svg").first.is_visible()
    assert not tab.locator("#attention").is_visible()
    context.close()
