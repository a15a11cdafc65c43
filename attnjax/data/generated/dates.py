"""Dates in many languages, to be rewritten as yyyy-mm-dd, character by character.

    Donnerstag, 3. Juni 2021     ->  2021-06-03
    ٣ يونيو ٢٠٢١                 ->  2021-06-03

The source of every character of the answer is known, which makes the task a test of attention: a
digit of the year comes from that digit, the month from its name or number, the day from its number.
The formats and names are CLDR's, by Babel, which is imported when a task is loaded.
"""

import datetime
import difflib
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpus import Corpus, Example, build
from attnjax.data.generated.sequences import Generated
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import Characters
from attnjax.errors import UserError

if TYPE_CHECKING:
    from babel import Locale

WIDTHS = ("full", "long", "medium", "short")

PARTS = {"y": "year", "M": "month", "L": "month", "d": "day", "E": "weekday", "c": "weekday"}
"""The meaning of letters in CLDR patterns (UTS 35); patterns with other letters are not used."""

ZEROS = {
    "adlm": "\U0001e950", "arab": "\u0660", "arabext": "\u06f0", "beng": "\u09e6",
    "cakm": "\U00011136", "deva": "\u0966", "hmnp": "\U0001e140", "mtei": "\uabf0",
    "mymr": "\u1040", "nkoo": "\u07c0", "olck": "\u1c50", "tibt": "\u0f20",
}  # fmt: skip
"""The zero of each numbering system that is some locale's own; the other digits follow it."""

LEAP_YEAR = [datetime.date(2000, 1, 1) + datetime.timedelta(number) for number in range(366)]
"""Days that have every day, month and weekday, and every digit."""


class Written(NamedTuple):
    """A date as text, and the positions of its year, month and day in it."""

    text: str
    spans: dict[str | None, range]


@dataclass(frozen=True)
class Format:
    """A date pattern in a language: fields with the parts that they mean, and plain texts."""

    locale: "Locale"
    pieces: tuple[tuple[str | None, str], ...]  # ("month", "MMMM") or (None, " de ")
    _spellings: dict[tuple[str, int], str] = field(default_factory=dict, compare=False, repr=False)

    def write(self, day: datetime.date) -> Written:
        """Write a date in this format, in Unicode's normal form C."""
        text, spans = "", {}
        for part, symbol in self.pieces:
            start = len(text)
            text += symbol if part is None else self._spelling(part, symbol, day)
            spans[part] = range(start, len(text))
        return Written(text, spans)

    def _spelling(self, part: str, symbol: str, day: datetime.date) -> str:
        from babel.dates import DateTimeFormat

        value = day.weekday() if part == "weekday" else getattr(day, part)
        if (symbol, value) not in self._spellings:
            spelling = unicodedata.normalize("NFC", DateTimeFormat(day, self.locale)[symbol])
            zero = ord(ZEROS.get(self.locale.default_numbering_system, "0"))
            digits = {ord("0") + digit: zero + digit for digit in range(10)}
            self._spellings[symbol, value] = spelling.translate(digits)
        return self._spellings[symbol, value]


@dataclass(frozen=True, kw_only=True)
class Dates(Generated):
    """Dates in the formats of many languages, to be written in ISO 8601, character by character.

    A format is left out if a date cannot be read from it: it has a year of two digits, or one of
    its texts means another day in another format (3/6/2021 is in June or in March). The days of
    valid and test are all different and occur in train in no format; no pair of day and format
    occurs twice.

    Attributes:
        locales: Babel's names of languages, separated by commas.
        formats: separated by semicolons: "full", "long", "medium" or "short"; a skeleton of CLDR
            ("yMMMEd"), for the languages that have it; or a pattern ("d MMMM y").
        first_year: the first year that days are drawn from.
        last_year: the last one.
    """

    locales: str = "en,de,fr,es,fi,tr,ru,el,hu,ja,hi,ar_EG"
    formats: str = "full;long;medium;short;yMMMEd"
    first_year: PositiveInt = 1900
    last_year: PositiveInt = 2099

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        if not 1000 <= self.first_year <= self.last_year <= 9999:
            raise UserError(
                "1000 <= task.first_year <= task.last_year <= 9999 must hold; "
                f"got {self.first_year} to {self.last_year}"
            )
        formats = self._formats()
        examples = self._examples(formats)
        if vocabularies is None:
            # all days of a year have all digits and names: the same symbols for every seed
            texts = (form.write(day).text for form in formats for day in LEAP_YEAR)
            days = (day.isoformat() for day in LEAP_YEAR)
            vocabularies = joint(Characters().learn(chain(texts, days)))
        return build(self.in_splits(examples), vocabularies)

    def _formats(self) -> list[Format]:
        """Return the formats of all locales that a date can be read from."""
        locales = [find_locale(name.strip()) for name in self.locales.split(",")]
        distinct: dict[Format, None] = {}  # ordered, without repetitions
        for name in map(str.strip, self.formats.split(";")):
            named = [made for made in (_format(locale, name) for locale in locales) if made]
            if not named and name not in WIDTHS:
                raise UserError(
                    f"task.formats has {name!r}, which is neither the name of a format nor a "
                    "pattern with one day, one month and one year of four digits"
                )
            distinct.update(dict.fromkeys(named))
        formats = unambiguous(list(distinct))
        for locale in locales:
            if all(format.locale != locale for format in formats):
                raise UserError(
                    f"no format of task.formats={self.formats!r} is unambiguous in the locale "
                    f"{locale}: each is missing there, or is read as another day in some format"
                )
        return formats

    def _examples(self, formats: list[Format]) -> list[Example]:
        generator = self.generator
        first = datetime.date(self.first_year, 1, 1).toordinal()
        last = datetime.date(self.last_year, 12, 31).toordinal()
        days = generator.permutation(np.arange(first, last + 1))
        held_out = self.valid + self.test
        possible = (len(days) - held_out) * len(formats)
        if self.train > possible:
            raise UserError(
                f"task.train={self.train:,} is too large: beside {held_out:,} days for valid and "
                f"test, {len(days):,} days in {len(formats)} formats leave {max(possible, 0):,}"
            )
        # each pass over the days takes the next format, so that no (day, format) comes twice
        offset = generator.integers(len(formats), size=len(days))
        turn, which = np.divmod(np.arange(self.train), len(days) - held_out)
        which = np.concatenate([held_out + which, np.arange(held_out)])
        turn = np.concatenate([turn, np.zeros(held_out, int)])
        pairs = zip((offset[which] + turn) % len(formats), days[which], strict=True)
        return [
            example(formats[chosen], datetime.date.fromordinal(int(day))) for chosen, day in pairs
        ]


def find_locale(name: str) -> "Locale":
    """Return Babel's locale of this name."""
    from babel import Locale, UnknownLocaleError, localedata

    try:
        return Locale.parse(name, sep="-" if "-" in name else "_")
    except (UnknownLocaleError, ValueError) as error:
        near = difflib.get_close_matches(name, localedata.locale_identifiers(), n=1)
        raise UserError(
            f"unknown locale {name!r} in task.locales"
            + "".join(f"; the nearest is {known!r}" for known in near)
        ) from error


def unambiguous(formats: list[Format]) -> list[Format]:
    """Return the formats whose texts mean the same day in every format that can read them."""
    readings: dict[str, list[tuple[datetime.date, Format]]] = defaultdict(list)
    for day in LEAP_YEAR:
        for format in formats:
            readings[format.write(day).text].append((day, format))
    unclear = (read for read in readings.values() if len({day for day, _ in read}) > 1)
    refused = {format for read in unclear for _, format in read}
    return [format for format in formats if format not in refused]


def example(format: Format, day: datetime.date) -> Example:
    """Return the example of a day in a format, with the origin of each digit of the answer."""
    text, spans = format.write(day)
    nothing = frozenset()
    month, date = frozenset(spans["month"]), frozenset(spans["day"])
    year = [frozenset((position,)) for position in spans["year"]]
    return Example(text, day.isoformat(), (*year, nothing, month, month, nothing, date, date))


def _format(locale: "Locale", name: str) -> Format | None:
    """Parse a name or pattern of a locale with a year of four digits, a month and a day."""
    from babel.dates import parse_pattern, tokenize_pattern

    named = {**locale.datetime_skeletons, **locale.date_formats}
    pattern = named[name].pattern if name in named else name
    try:
        parse_pattern(pattern)
    except ValueError:
        return None
    pieces: list[tuple[str | None, str]] = []
    for _, value in tokenize_pattern(pattern):
        if isinstance(value, str):
            pieces.append((None, unicodedata.normalize("NFC", value)))
        elif value[0] in PARTS and value != ("y", 2):
            pieces.append((PARTS[value[0]], value[0] * value[1]))
        else:
            return None
    parts = [part for part, _ in pieces]
    once = all(parts.count(part) == 1 for part in ("year", "month", "day"))
    return Format(locale, tuple(pieces)) if once else None
