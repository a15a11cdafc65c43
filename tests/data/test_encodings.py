"""Files of every encoding are read right, or refused by name; no line shifts, no letter is another.

UTF-16 in words of Windows-1252, and UTF-8 in its letters, would be trained on without an error.
"""

import codecs
import gzip
from random import Random

import pytest

from attnjax.data import (
    JsonLines,
    LabeledFile,
    ParallelText,
    RawText,
    SentencePairs,
    Shuffled,
    TabSeparated,
    files as data_files,
)
from attnjax.data.files import CODECS, read_lines, read_text
from attnjax.errors import UserError

LINES = ["Die Tür, café", "", "a\u00a0b 10", "naïve Öl " * 9 + "x", "x"]
WAYS = {
    "UTF-8": ("utf-8", "utf-8-sig"),
    "UTF-16": ("utf-16", "utf-16-le", "utf-16-be", "marked utf-16-be"),
    "Windows-1252": ("cp1252", "latin-1"),
}
"""The codecs in which people write files that are read in an encoding."""

CASES = [(encoding, codec) for encoding, codecs in WAYS.items() for codec in codecs]


def written(text: str, codec: str) -> bytes:
    mark = codecs.BOM_UTF16_BE if codec.startswith("marked ") else b""
    return mark + text.encode(codec.removeprefix("marked "))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("encoding", "codec"), CASES)
def test_lines_are_read_in_their_encoding_and_refused_in_every_other(
    tmp_path, monkeypatch, encoding, codec, end
):
    text = "".join(f"{line}{end}" for line in LINES)
    (tmp_path / "plain").write_bytes(written(text, codec))
    (tmp_path / "small.gz").write_bytes(gzip.compress(written(text, codec)))
    for number, part in enumerate((LINES[:3], LINES[3:])):
        shard = tmp_path / f"cut-{number:05d}-of-00002"
        shard.write_bytes(written(end.join(part), codec))
    for name in ("plain", "small", "cut"):
        assert read_lines(tmp_path / name, encoding) == LINES
    assert read_text(tmp_path / "plain", encoding) == text
    for other in CODECS.keys() - {encoding}:
        for read in (read_lines, read_text):
            with pytest.raises(UserError, match=f"plain.* is .*{encoding}|not {other}"):
                read(tmp_path / "plain", other)
    # a character may lie in two blocks
    for size in (63, 64, 65):
        monkeypatch.setattr(data_files, "BLOCK", size)
        monkeypatch.setattr(data_files, "BEGINNING", size)
        assert read_lines(tmp_path / "plain", encoding) == LINES


def test_a_language_without_spaces_or_latin_letters(tmp_path):
    lines = ["今天天氣很好。", "Привет, мир", "ਸਤ ਸ੍ਰੀ ਅਕਾਲ", "上海"]
    for codec in WAYS["UTF-16"]:
        (tmp_path / "text").write_bytes(written("\n".join(lines), codec))
        assert read_lines(tmp_path / "text", "UTF-16") == lines
        for other in ("UTF-8", "Windows-1252"):
            with pytest.raises(UserError, match=f"text is UTF-16, not {other}; .* UTF-16"):
                read_lines(tmp_path / "text", other)


def test_ascii_is_utf_8_and_windows_1252(tmp_path):
    (tmp_path / "text").write_text("a dog\n")
    assert read_lines(tmp_path / "text") == read_lines(tmp_path / "text", "Windows-1252")


def test_a_carriage_return_within_a_line_is_a_character(tmp_path):
    # as in corpora from the web
    (tmp_path / "web").write_bytes(b"one\rtwo\nthree\r\n")
    assert read_lines(tmp_path / "web") == ["one\rtwo", "three"]


@pytest.mark.parametrize(("encoding", "codec"), CASES)
def test_every_task_of_files_reads_it(tmp_path, encoding, codec):
    count = 9
    texts = [f"Tür {number} café" for number in range(count)]
    files = {
        "train.en": [f"{text}" for text in texts],
        "train.de": [f"{text} zu" for text in texts],
        "train.tsv": [f"{text}\t{text} zu" for text in texts],
        "train.jsonl": [f'{{"en": "{text}", "de": "{text} zu"}}' for text in texts],
        "labels.csv": ["text,label", *(f'"{text}, zu",größer' for text in texts)],
        "text.txt": texts,
    }
    for name, lines in files.items():
        (tmp_path / name).write_bytes(written("".join(f"{line}\r\n" for line in lines), codec))
    alone = {"folder": str(tmp_path), "valid": None, "test": None, "encoding": encoding}
    for task in (ParallelText(**alone), TabSeparated(**alone), JsonLines(**alone)):
        corpus = task.load()
        assert corpus.sources["train"] == texts
        assert corpus.references["train"] == [f"{text} zu" for text in texts]
        # a trained run reads more files as these
        assert Shuffled(task=task).file_encoding == task.file_encoding == encoding
    labels = {"train": "labels.csv[:6]", "test": "labels.csv[6:]", "valid": 1}
    labeled = LabeledFile(folder=str(tmp_path), **labels, encoding=encoding).load()
    assert labeled.sources["test"] == [f"{text}, zu" for text in texts[6:]]
    assert labeled.references["test"] == ["größer"] * 3
    file = str(tmp_path / "text.txt")
    raw = RawText(file=file, valid=0.0, test=0.0, encoding=encoding).load()
    assert raw.references["train"] == ["".join(f"{text}\r\n" for text in texts)]
    pairs = SentencePairs(files=(file,), valid=1, test=1, encoding=encoding).load()
    sentences = {part for text in pairs.sources["train"] for part in text.split("\t")}
    assert sentences <= set(texts)


def sentence(read) -> str:
    """What is said of a file that cannot be read; "": it can."""
    try:
        read()
    except UserError as error:
        return str(error)
    return ""


def test_damaged_files_are_a_sentence_or_read(tmp_path):
    draw = Random(0)
    whole = "text,label\n" + "".join(f'"Tür {n}, zu",ja\nauf {n},nein\n' for n in range(20))
    pairs = "".join(f"Tür {n}\tdoor {n}\n" for n in range(20))
    lines = "".join(f'{{"en": "Tür {n}", "de": "door {n}"}}\n' for n in range(20))
    alone = {"folder": str(tmp_path), "valid": None, "test": None}
    for number in range(250):
        encoding = draw.choice([*CODECS])
        codec = draw.choice(WAYS[draw.choice([*WAYS])])
        for name, text in (("train.csv", whole), ("train.tsv", pairs), ("train.jsonl", lines)):
            content = bytearray(written(text, codec))
            if number % 3 == 0:
                del content[draw.randrange(len(content)) :]
            elif number % 3 == 1:
                for _ in range(draw.randrange(1, 9)):
                    content[draw.randrange(len(content))] = draw.randrange(256)
            else:
                content = bytearray(draw.randbytes(draw.randrange(300)))
            (tmp_path / name).write_bytes(content)
        (tmp_path / "test.csv").write_bytes(written(whole, draw.choice(["utf-8", codec])))
        readers = (
            LabeledFile(folder=str(tmp_path), valid=1, encoding=encoding).load,
            TabSeparated(**alone, encoding=encoding).load,
            JsonLines(**alone, encoding=encoding).load,
            lambda encoding=encoding: read_lines(tmp_path / "train.tsv", encoding),
            RawText(file=str(tmp_path / "train.jsonl"), encoding=encoding).load,
        )
        for read in readers:
            said = sentence(read)
            assert "\n" not in said, said
            assert len(said) < 500, said


@pytest.mark.parametrize(
    "codec, line", [("gbk", "今天天气很好"), ("cp1251", "Привет, мир"), ("big5", "上海")]
)
def test_letters_of_other_scripts_are_no_windows_1252(tmp_path, codec, line):
    (tmp_path / "text").write_bytes(f"{line}\n".encode(codec))
    with pytest.raises(UserError, match=r"text is not Windows-1252: \d+ % of its bytes would be"):
        read_lines(tmp_path / "text", "Windows-1252")
