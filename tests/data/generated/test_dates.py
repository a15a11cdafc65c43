"""Dates: readable, disjoint, and aligned, by rules that know nothing of how they are made."""

import datetime
import re
import time
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from babel.dates import format_date
from hypothesis import given, strategies as st

from attnjax.data.generated.dates import Dates, example
from attnjax.errors import UserError

FORMATS = Dates()._formats()
SMALL: dict[str, Any] = {"train": 300, "valid": 30, "test": 50}


def digits(text: str) -> str:
    """Digits of any script as ASCII."""
    return "".join(str(unicodedata.digit(character)) for character in text)


@given(st.sampled_from(FORMATS), st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)))
def test_alignment_names_the_year_the_day_and_the_month(form, day):
    text, iso, links = example(form, day)
    assert links is not None
    assert text == unicodedata.normalize("NFC", text)
    assert iso == day.isoformat()
    assert len(links) == len(iso)
    assert links[4] == links[7] == frozenset()
    aligned = ["".join(text[place] for place in sorted(link)) for link in links]
    assert digits("".join(aligned[:4])) == iso[:4]
    assert [len(link) for link in links[:4]] == [1, 1, 1, 1]
    assert aligned[8] == aligned[9]
    assert int(digits(aligned[8])) == day.day
    assert aligned[5] == aligned[6]
    month = aligned[5]
    assert month.strip() == month != ""
    # the month depends on the month alone, and a number is the month's
    if month.isdigit():
        assert int(digits(month)) == day.month
    months = [form.write(day.replace(day=1, month=n)) for n in range(1, 13)]
    names = {text[spans["month"].start : spans["month"].stop] for text, spans in months}
    assert len(names) == 12
    assert month in names


@given(st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)))
def test_a_format_writes_what_babel_does(day):
    for form in FORMATS:
        if form.locale.default_numbering_system == "latn":  # Babel writes digits in ASCII alone
            pattern = "".join(
                symbol if part else re.sub("([A-Za-z]+)", r"'\1'", symbol)
                for part, symbol in form.pieces
            )
            written = unicodedata.normalize("NFC", format_date(day, pattern, form.locale))
            assert form.write(day).text == written


def test_digits_are_of_the_locale():
    (form,) = Dates(locales="ar_EG", formats="short")._formats()
    source = form.write(datetime.date(2021, 6, 3)).text
    assert not source.isascii()
    assert not any(character.isascii() and character.isdigit() for character in source)


def test_no_text_has_two_readings():
    readings = {}
    for form in FORMATS:
        for number in range(0, 200 * 365, 37):
            day = datetime.date(1900, 1, 1) + datetime.timedelta(number)
            assert readings.setdefault(form.write(day).text, day) == day


def test_splits_are_disjoint_in_days_and_nothing_comes_twice():
    # few days, so that train has each of them in several formats
    corpus = Dates(first_year=2000, last_year=2001, train=2_000, valid=30, test=50).load()
    days = {name: set(answers) for name, answers in corpus.references.items()}
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "train": 2_000,
        "valid": 30,
        "test": 50,
    }
    assert not days["test"] & days["train"]
    assert not days["test"] & days["valid"]
    assert not days["valid"] & days["train"]
    assert (len(days["valid"]), len(days["test"])) == (30, 50)
    assert len(days["train"]) == 366 + 365 - 80
    for name, split in corpus.splits.items():
        for encoded, answer in zip(split, corpus.references[name], strict=True):
            assert corpus.vocabularies.target.decode(encoded.target) == answer
            assert encoded.alignment is not None
            assert len(encoded.alignment) == len(encoded.target)
            assert encoded.alignment[-1] == frozenset()


def test_no_day_comes_twice_in_a_format():
    task = Dates(locales="de", first_year=2000, last_year=2000, train=4 * 300, valid=6, test=60)
    formats = task._formats()
    assert len(formats) == 4
    examples = task._examples(formats)
    assert len({(source, target) for source, target, _ in examples}) == len(examples)
    with pytest.raises(UserError, match=r"train=1,201 .* 66 days .* 366 days in 4 .* leave 1,200"):
        replace(task, train=4 * 300 + 1).load()


def test_the_default_is_quick_and_diverse():
    start = time.process_time()
    corpus = Dates().load()
    assert time.process_time() - start < 4
    assert len({str(form.locale) for form in FORMATS}) == 12
    unknown = corpus.vocabularies.target.encode("\N{SNOWMAN}")[0]
    assert all(unknown not in encoded.source for encoded in corpus.splits["test"])


def test_the_seed_alone_decides():
    assert Dates(**SMALL).load() == Dates(**SMALL).load()
    assert Dates(**SMALL).load().splits != Dates(**SMALL, seed=1).load().splits


def test_formats_that_leave_the_day_open_are_left_out():
    def written(locales, formats):
        day = datetime.date(2021, 6, 3)
        return {form.write(day).text for form in Dates(locales=locales, formats=formats)._formats()}

    assert written("en,fr", "long;yMd") == {"June 3, 2021", "3 juin 2021"}
    assert written("fr", "long;yMd") == {"3 juin 2021", "03/06/2021"}
    assert written("en", "long;short") == {"June 3, 2021"}  # 6/3/21: of which century?
    # October in Croatian is November in Polish
    assert written("hr,pl", "yMd;d LLLL y") == {"03. 06. 2021.", "3.06.2021"}
    assert written("de", "EEEE d MMMM y;long") == {"Donnerstag 3 Juni 2021", "3. Juni 2021"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"locales": "en,de_DX"},
            "unknown locale 'de_DX' in task.locales; the nea",
        ),
        ({"locales": "en,,de"}, "unknown locale '' in task.locales"),
        ({"formats": "long;fulll"}, "task.formats has 'fulll'"),
        ({"formats": "d MMMM"}, "has 'd MMMM', .* one day, one month and one year"),
        ({"formats": "d MMMMMMMM y"}, "has 'd MMMMMMMM y'"),
        ({"formats": "d.M.yy"}, "has 'd.M.yy', .* one year of four digits"),
        (
            {"locales": "en,fr", "formats": "yMd"},
            "no format of task.formats='yMd' is unambiguous in the locale en",
        ),
        ({"first_year": 2020, "last_year": 2019}, "1000 <= .* <= 9999.*got 2020 to 2019"),
        ({"first_year": 999}, "got 999 to 2099"),
        ({"train": 0}, "task.train: wanted .*; got .*0"),
        ({"seed": -3}, "task.seed: wanted .*; got .*-3"),
    ],
)
def test_fields_out_of_range(load, fields, message):
    with pytest.raises(UserError, match=message):
        load(Dates(**(SMALL | fields)))
