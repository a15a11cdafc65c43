"""Files are read whole and as they are, or refused with one sentence that says why."""

import json
import re
import subprocess
from dataclasses import replace

import pytest

from attnjax.data.corpora.parallel_text import (
    Forward,
    JsonLines,
    ParallelText,
    Reversed,
    TabSeparated,
    read_pairs,
)
from attnjax.data.corpus import Example
from attnjax.data.files import read_lines
from attnjax.data.prepared import source_files
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.special_tokens import END, UNKNOWN
from attnjax.data.vocabularies import joint
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import UserError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("ATTNJAX_DATA", raising=False)
    texts = {
        "train.en": "a b@@ c\nd\n",
        "train.de": "A B\r\n\n",
        "valid.en": "a\n",
        "valid.de": "B@@ A",
        "test.en": "z d\n",
        "test.de": "A@@ A z\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def test_parallel_text(folder):
    corpus = ParallelText(folder=str(folder)).load()
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "train": 2,
        "valid": 1,
        "test": 1,
    }
    assert corpus.vocabularies.target.pieces[4:] == ("A", "B", "a", "b@@", "c", "d")
    empty = corpus.splits["train"][1]  # an empty line is an empty sentence, not left out
    assert empty.target == [END]
    assert empty.alignment is None
    assert corpus.splits["test"][0].source == [
        UNKNOWN,
        corpus.vocabularies.target.encode("d")[0],
        END,
    ]
    assert corpus.references == {"train": ["A B", ""], "valid": ["BA"], "test": ["AA z"]}


def test_a_source_is_read_backwards_and_keeps_its_end(folder):
    forward, backward = (
        ParallelText(folder=str(folder), source_order=order) for order in (Forward(), Reversed())
    )
    one, other = forward.load(), backward.load()
    assert one.vocabularies == other.vocabularies
    for there, back in zip(one.splits["train"], other.splits["train"], strict=True):
        assert back.source == [*there.source[-2::-1], END]
        assert back.target == there.target
    text, vocabulary = other.sources["train"][0], other.vocabularies.source
    assert backward.ids(text, vocabulary) == other.splits["train"][0].source


def test_long_sentences_are_left_out_of_training(folder):
    corpus = ParallelText(folder=str(folder), max_length=2).load()
    assert corpus.sources == {"train": ["d"], "valid": ["a"], "test": ["z d"]}
    with pytest.raises(UserError, match="no training example has at most task.max_length=0 words"):
        ParallelText(folder=str(folder), max_length=0).load()


def test_a_part_of_a_split_is_named_by_its_places(folder):
    whole = ParallelText(folder=str(folder)).load()
    cut = ParallelText(folder=str(folder), train="train[1:]", valid=None, test="train[:1]").load()
    assert cut.references["train"] == whole.references["train"][1:]
    assert cut.references["test"] == whole.references["train"][:1]
    assert "a" not in cut.vocabularies.target.pieces, "what is held out is not learned from"
    with pytest.raises(UserError, match=r"train\[7:\] holds nothing; train has 2 examples"):
        ParallelText(folder=str(folder), train="train[7:]").load()
    with pytest.raises(UserError, match=r"is written train\[4000:\] .*; got train\[:10%\]"):
        ParallelText(folder=str(folder), train="train[:10%]").load()


def test_two_vocabularies(folder):
    corpus = ParallelText(folder=str(folder), target_vocabulary=SplitWords()).load()
    source, target = corpus.vocabularies
    assert set(source.pieces[4:]).isdisjoint(target.pieces[4:])
    assert UNKNOWN not in corpus.splits["train"][0].source + corpus.splits["train"][0].target


def test_a_given_vocabulary_is_used_not_learned(folder):
    given = SplitWords().learn(["z y"])
    corpus = ParallelText(folder=str(folder)).load(joint(given))
    assert corpus.vocabularies.target is given
    assert corpus.splits["test"][0].source == [*given.encode("z"), UNKNOWN, END]


def test_folder_as_it_is_or_under_the_variable(folder, monkeypatch):
    task = ParallelText(folder=folder.name, valid=None, test=None)
    monkeypatch.chdir(folder.parent)
    assert set(task.load().splits) == {"train"}
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    with pytest.raises(UserError, match=f"no folder {folder.name}.*ATTNJAX_DATA.*not set"):
        task.load()
    monkeypatch.setenv("ATTNJAX_DATA", str(folder.parent))
    assert set(task.load().splits) == {"train"}
    monkeypatch.setenv("ATTNJAX_DATA", str(folder))
    with pytest.raises(
        UserError, match=f"no folder nowhere .*, nor one under ATTNJAX_DATA={folder}"
    ):
        ParallelText(folder="nowhere").load()


def test_only_a_newline_ends_a_line(tmp_path):
    text = "a\u2028b\x85c\x0bd\n\ne\r\n"
    (tmp_path / "lines").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_lines(tmp_path / "lines") == ["a\u2028b\x85c\x0bd", "", "e"]


@pytest.mark.parametrize(
    "first",
    ['<refset setid="newstest2014" trglang="en">', "<?xml version='1.0'?>", "\ufeff<srcset a>"],
)
def test_the_files_of_wmt_are_refused_with_what_they_become_lines_by(tmp_path, first):
    """Their tags were trained on."""
    lines = f"{first}\n<doc>\n<seg id='1'> A dog . </seg>\n<seg id='2'>Two</seg>\n</doc>\n"
    for name in ("train.en.sgm", "train.de.sgm"):
        (tmp_path / name).write_text(lines)
    task = ParallelText(
        folder=str(tmp_path), source="en.sgm", target="de.sgm", valid=None, test=None
    )
    with pytest.raises(UserError, match=r"train.en.sgm is SGML or XML, .*such as sed") as caught:
        task.load()
    command = re.search("such as (.*) FILE", str(caught.value))[1]
    printed = subprocess.run(
        f"{command} {tmp_path / 'train.en.sgm'}", shell=True, capture_output=True, text=True
    )
    assert [*map(str.strip, printed.stdout.splitlines())] == ["A dog .", "Two"]


def test_tab_separated(tmp_path):
    (tmp_path / "train.tsv").write_text("a b\tB A\nc\t\n")
    corpus = TabSeparated(folder=str(tmp_path), valid=None, test=None).load()
    assert corpus.references["train"] == ["B A", ""]
    assert [len(example.source) for example in corpus.splits["train"]] == [3, 2]


def test_columns_of_tab_separated_lines(tmp_path):
    # as manythings.org has the pairs of Tatoeba
    rows = ["Go.\tGeh.\tCC-BY 2.0 #1 & #2", 'I say "go.\tIch sage "geh.\tCC-BY 2.0 #3']
    (tmp_path / "deu.txt").write_text("".join(f"{row}\n" for row in rows))
    task = TabSeparated(folder=str(tmp_path), train="deu.txt", valid=None, test=None, columns=3)
    corpus = task.load()
    assert corpus.sources["train"] == ["Go.", 'I say "go.']
    assert corpus.references["train"] == ["Geh.", 'Ich sage "geh.']
    back = replace(task, source=2, target=1).load()
    assert back.sources["train"] == corpus.references["train"]
    assert back.references["train"] == corpus.sources["train"]
    for source, target in ((1, 1), (4, 1), (2, 9)):
        with pytest.raises(UserError, match=f"columns=3 columns; got {source} and {target}"):
            replace(task, source=source, target=target)
    with pytest.raises(UserError, match="task.source: wanted int above 0; got int 0"):
        replace(task, source=0)


def test_a_character_of_two_halves_is_one(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"en": "a \\ud83d\\ude00", "de": "b"}')
    corpus = JsonLines(folder=str(tmp_path), valid=None, test=None).load()
    assert corpus.sources["train"] == ["a \U0001f600"]


def test_brackets_in_the_name_of_a_split(folder):
    for side in ("en", "de"):
        (folder / f"all[v1].{side}").write_text("a\nb\nc\n")
    task = ParallelText(folder=str(folder), train="all[v1][:2]", valid=None, test="all[v1][2:]")
    corpus = task.load()
    assert corpus.sources == {"train": ["a", "b"], "test": ["c"]}
    assert source_files(task) == [folder / "all[v1].en", folder / "all[v1].de"]


def test_json_lines_are_tab_separated_lines(tmp_path):
    pairs = [("größe", "A"), ("", 'b "c"\td'), ("x\u2028y", "")]
    lines = [json.dumps({"de": source, "en": target, "id": 3}) for source, target in pairs]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    task = JsonLines(folder=str(tmp_path), source="de", target="en", valid=None, test=None)
    assert [*task.reader()("train.jsonl")] == [Example(*pair) for pair in pairs]


def test_json_objects_within_a_line_are_named_by_dots(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"translation": {"en": "a dog", "ro": "un câine"}}\n')
    task = JsonLines(folder=str(tmp_path), source="translation.en", target="translation.ro")
    assert [*task.reader()("train.jsonl")] == [Example("a dog", "un câine")]


def test_multi30k(data, monkeypatch):
    monkeypatch.setenv("ATTNJAX_DATA", str(data))
    corpus = ParallelText(folder="multi30k-bpe", test="test.2016").load()
    assert corpus.vocabularies.target.size == 9712
    sizes = {name: len(split) for name, split in corpus.splits.items()}
    assert sizes == {"train": 29_000, "valid": 1_014, "test": 1_000}
    # the length that the published score was computed with
    assert sum(len(text.split()) for text in corpus.references["test"]) == 12_103
    for example, reference in zip(corpus.splits["train"], corpus.references["train"], strict=True):
        assert corpus.vocabularies.target.decode(example.target) == reference


def test_real_files_that_are_not_as_they_should_be(data):
    with pytest.raises(
        UserError, match=r"rt-polarity\.neg, line \d+, is not .*: it has the byte 0x"
    ):
        read_lines(data / "mr" / "rt-polarity.neg")
    folder = data / "multi30k-bpe"
    with pytest.raises(UserError, match=r"has 1,014, .* has 1,000"):
        list(read_pairs(folder / "valid.en", folder / "test.2016.de"))


def test_sentencepiece_on_real_text(data):
    lines = read_lines(data / "multi30k" / "val.de")
    vocabulary = SentencePiece(size=1_000).learn(lines)
    for line in lines:
        assert vocabulary.decode(vocabulary.encode(line)) == re.sub(" +", " ", line).strip(" ")
