"""Files that are damaged, cut, or of another kind: each is one sentence that names the file."""

import codecs
import gzip
from dataclasses import replace
from typing import Any

import pytest

from attnjax.data import (
    JsonLines,
    LabeledFile,
    MovieReviews,
    ParallelText,
    Scan,
    TabSeparated,
    Trec,
)
from attnjax.data.files import read_lines, read_text
from attnjax.errors import UserError

LINE = "la " * 350_000
"""A line of a megabyte."""

LABELED = b"text,label\na,b\n"
COMMANDS = b"IN: run OUT: I_RUN\n" * 3
QUESTIONS = b"0 What is it ?\n4 Where ?\n5 How far ?\n3 Who ?\n"
REVIEWS = "na\u00efve\n".encode("cp1252") * 10
HALF = {"utf-16": b"\x00\xd8", "utf-16-be": b"\xd8\x00"}
"""Half of a character, in words of two bytes."""

PAIRS = {
    f"{split}.{side}": b"a b\nc\n" for split in ("train", "valid", "test") for side in ("en", "de")
}
TASKS: dict[str, tuple[Any, dict[str, bytes]]] = {
    "ParallelText": (ParallelText(), PAIRS),
    "TabSeparated": (TabSeparated(valid=None, test=None), {}),
    "JsonLines": (JsonLines(valid=None, test=None), {}),
    "LabeledFile": (LabeledFile(valid=1), {"test.csv": LABELED}),
    "Trec": (Trec(valid=1), {"test.txt": QUESTIONS}),
    "MovieReviews": (MovieReviews(valid=1), {"rt-polarity.neg": REVIEWS}),
    "Scan": (Scan(split="length", valid=1), {"length_test.txt": COMMANDS}),
}
"""Tasks that read a folder, and their other files."""

PAIR = b'{"en": "a", "de": "b"}\n'
OF_TASKS: list[tuple[str, str, bytes | None, str]] = [
    ("ParallelText", "valid.de", None, r"no file .*valid\.de"),
    ("ParallelText", "train.de", b"A\nB\nC\n", r"train\.en has 2, .*train\.de has 3"),
    ("ParallelText", "train.de", b"A\nB\ncaf\xe9 x\n", r"train\.de, line 3, .*UTF-8: .* byte 0xe9"),
    ("ParallelText", "train.de", b"\xef\xbb\xbfA\ncaf\xe9 x\n", r"train\.de, line 2, is not UTF-8"),
    ("ParallelText", "valid.en", b"", r"valid\.en is empty"),
    ("ParallelText", "valid.en", b"\n \n\n", r"valid\.en is empty"),
    ("TabSeparated", "train.tsv", b"a\tb\nno tab\n", r"line 2, has 1 columns .*columns=2"),
    ("TabSeparated", "train.tsv", b"a\tb\na\tb\tc\n", r"line 2, has 3 columns .*columns=2"),
    ("TabSeparated", "train.tsv", LINE.encode(), "line 1, has 1 columns"),
    ("JsonLines", "train.jsonl", PAIR + b'{"en": "a \\ud83d", "de": "b"}', "2, has half .*ud83d'"),
    ("JsonLines", "train.jsonl", LINE.encode(), "line 1, is .*keys 'en' and 'de'"),
    *(
        ("JsonLines", "train.jsonl", PAIR + line + b"\n", r"jsonl, line 2, is .*keys 'en' and 'de'")
        for line in (b"no JSON", b"", b"[1]", b'{"en": "a"}', b'{"en": 1, "de": "b"}', b"[" * 9999)
    ),
    ("LabeledFile", "train.csv", LABELED + b"c\n", "line 3, has 1 fields; the first row has 2"),
    ("LabeledFile", "train.csv", LABELED + b"c,d,e\n", "line 3, has 3 fields; the first row has 2"),
    ("LabeledFile", "train.csv", LABELED + b'"c,d\n', "line 3, is malformed: unexpected end of"),
    ("LabeledFile", "train.csv", LABELED + b'"c"d,e\n', "line 3, is malformed: ',' expected after"),
    ("LabeledFile", "train.csv", LABELED + b"c, \n", r"line 3, has no label \(task.label='label'"),
    (
        "LabeledFile",
        "train.csv",
        LABELED + b"na\xefve,b\n",
        r"csv, line 3, is not UTF-8: it has the",
    ),
    (
        "LabeledFile",
        "train.csv",
        b"text,class\na,b\n",
        "must be task.label='label'; .* text, class",
    ),
    (
        "LabeledFile",
        "train.csv",
        b"text,label,text\na,b,c\n",
        "one column must be task.text='text'",
    ),
    ("LabeledFile", "train.csv", b"text,label\n", "has no rows below the names of the columns"),
    ("LabeledFile", "train.csv", b"  \n", "is empty"),
    *(
        (
            "Trec",
            "train.txt",
            QUESTIONS + line + b"\n0 What ?\n",
            r"line 5, is '.*; a line is a lab",
        )
        for line in (b"6 What ?", b"What ?", b"", b"0What ?", b"0\tWhat ?", b"-1 What ?")
    ),
    ("MovieReviews", "rt-polarity.pos", b"fine\n\nbad \x81 byte\n", r"3, .*Windows-1252: .* 0x81"),
    *(
        (
            "Scan",
            "length_train.txt",
            b"IN: run OUT: I_RUN\n" + line + b"\n",
            "line 2, is '.*, not 'IN",
        )
        for line in (
            b"jump OUT: I_JUMP",
            b"IN: jump",
            b"IN: OUT: I_JUMP",
            b"IN: jump OUT: ",
            b"",
            b"# IN: a",
        )
    ),
]


def refused(read, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as error:
        read()
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("task", "name", "content", "sentence"), OF_TASKS, ids=lambda value: str(value)[:30]
)
def test_a_damaged_file_of_a_task(tmp_path, task, name, content, sentence):
    part, others = TASKS[task]
    for file, text in {**others, name: content}.items():
        if text is not None:
            (tmp_path / file).write_bytes(text)
    refused(replace(part, folder=str(tmp_path)).load, sentence)


ENCODED = [
    *(
        ("a dog\na cat\n".encode(codec), encoding, "text is UTF-32, which is not read")
        for codec in ("utf-32", "utf-32-le", "utf-32-be")
        for encoding in ("UTF-8", "UTF-16", "Windows-1252")
    ),
    (b"a dog\n", "UTF-16", "text is not UTF-16: it has no byte order mark"),
    (b"a dog\n", "latin-1", "unknown encoding 'latin-1'"),
    (
        "a\nb\n".encode("utf-16") + HALF["utf-16"] + b"\n\0",
        "UTF-16",
        "line 3, is not UTF-16: it has",
    ),
    (
        codecs.BOM_UTF16_BE + "a\nb\n".encode("utf-16-be") + HALF["utf-16-be"] + b"\0\n",
        "UTF-16",
        "text, line 3, is not UTF-16: it has the byte",
    ),
    ("a\nb\n".encode("utf-16")[:-1], "UTF-16", "is not UTF-16: .*truncated"),
    (
        "a\nGrün".encode("cp1252"),
        "UTF-8",
        "line 2, is not UTF-8: .* can read UTF-16 or Windows-1252",
    ),
    (b"one\rtwo\rthree\r", "UTF-8", r"text has carriage returns \(0x0d\) for line ends"),
    (b"", "UTF-8", "text is empty"),
]


@pytest.mark.parametrize(("content", "encoding", "sentence"), ENCODED)
def test_a_file_that_is_not_in_its_encoding(tmp_path, content, encoding, sentence):
    (tmp_path / "text").write_bytes(content)
    refused(lambda: read_lines(tmp_path / "text", encoding), sentence)
    if "carriage" not in sentence:  # a text as a whole has no lines
        refused(lambda: read_text(tmp_path / "text", encoding), sentence)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            {"cut-00000-of-00003": b"a\n", "cut-00002-of-00003": b"a\n"},
            "cut has 2 shards .* say 3; shard 00001 is missing",
        ),
        ({"cut.gz": gzip.compress(bytes(range(256)))[:5]}, r"cut\.gz is damaged or ends too early"),
        (
            {"cut.gz": gzip.compress(bytes(range(256)))[:40]},
            r"cut\.gz is damaged or ends too early",
        ),
    ],
)
def test_a_part_is_missing(tmp_path, files, sentence):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    refused(lambda: read_lines(tmp_path / "cut"), sentence)
