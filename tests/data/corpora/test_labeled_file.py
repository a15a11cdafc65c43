"""A labeled CSV or TSV file is a task; a label is whole, whatever spaces it has."""

import gzip
from collections import Counter
from dataclasses import replace

import pytest

from attnjax.data.corpora import labeled_file
from attnjax.data.corpora.labeled_file import LabeledFile
from attnjax.data.special_tokens import END, UNKNOWN
from attnjax.data.vocabularies import load_vocabularies
from attnjax.data.vocabulary import split_at_spaces
from attnjax.errors import NoCorpus, UserError

ROWS = """\
id,text,label
1,"It's late, again",very bad
2,fine,good

3,"she said ""wow""
twice", very good
4,no,very bad
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.csv").write_text("\ufeff" + ROWS)
    (tmp_path / "test.csv").write_text("id,text,label\n5,late again,very bad\n6,well,odd\n")
    return tmp_path


def test_a_label_of_two_words_is_one_symbol(folder, tmp_path):
    corpus = LabeledFile(folder=str(folder), valid=1, seed=1).load()
    words, labels = corpus.vocabularies
    held = {*corpus.references["train"], *corpus.references["valid"]}
    assert held == {"very bad", "good", "very good"}
    assert set(labels.pieces[4:]) == set(corpus.references["train"])
    for split, examples in corpus.splits.items():
        for example, reference in zip(examples, corpus.references[split], strict=True):
            assert example.source[-1] == END
            assert len(example.target) == 1
            if example.target != [UNKNOWN]:
                assert labels.decode(example.target) == reference
    assert words.plain("late again") == "late again"
    corpus.vocabularies.save(tmp_path / "saved")
    assert load_vocabularies(tmp_path / "saved") == corpus.vocabularies


def test_quoted_fields_and_unknown_labels(folder):
    corpus = LabeledFile(folder=str(folder), valid=1, seed=1).load()
    texts = Counter(corpus.sources["train"] + corpus.sources["valid"])
    assert texts == Counter(["It's late, again", "fine", 'she said "wow" twice', "no"])
    assert any(
        note.startswith("1 of 2 test examples have the label 'odd', which no training")
        for note in corpus.notes
    )


def test_columns_by_number_in_a_file_without_names(tmp_path):
    (tmp_path / "all.tsv").write_text('good\ta "quoted" word, 1\n' + "bad\tb\n" * 5)
    task = LabeledFile(
        folder=str(tmp_path), train="all.tsv[:4]", test="all.tsv[4:]", text=2, label=1, valid=1
    )
    corpus = task.load()
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "train": 3,
        "valid": 1,
        "test": 2,
    }
    found = corpus.sources["train"] + corpus.sources["valid"]
    assert 'a "quoted" word, 1' in found
    assert corpus.references["test"] == ["bad", "bad"]


def test_another_delimiter_quotes_that_are_letters_and_another_encoding(tmp_path):
    rows = ['"Grün, sagte er;gut', "so;schlecht"] * 3
    path = tmp_path / "all.txt.gz"
    path.write_bytes(gzip.compress("\n".join(rows).encode("cp1252")))
    task = LabeledFile(
        folder=str(tmp_path),
        train="all.txt[:4]",
        test="all.txt[4:]",
        text=1,
        label=2,
        valid=1,
        delimiter=";",
        quote="",
        encoding="Windows-1252",
    )
    corpus = task.load()
    assert corpus.sources["test"] == ['"Grün, sagte er', "so"]
    assert corpus.references["test"] == ["gut", "schlecht"]
    with pytest.raises(UserError, match="malformed: .* with task.quote='' a quote is a letter"):
        replace(task, quote='"').load()


def test_a_field_may_be_a_long_document(folder):
    (folder / "train.csv").write_text(f"text,label\n{'x' * 200_000},b\ny,b\n")
    corpus = LabeledFile(folder=str(folder), valid=1).load()
    found = corpus.sources["train"] + corpus.sources["valid"]
    assert sorted(map(len, found)) == [1, 200_000]


def test_a_label_of_several_lines_is_one_line(folder):
    (folder / "train.csv").write_text('text,label\na,"very\r\nbad"\nb,very bad\nc,"very\rbad"\n')
    corpus = LabeledFile(folder=str(folder), valid=1).load()
    assert {*corpus.references["train"], *corpus.references["valid"]} == {"very bad"}


def test_a_quote_that_swallows_lines_is_refused_or_counted(folder):
    rows = ["ham\tat 1", 'ham\t"Torino is on', "ham\tat 2", 'spam\tand you too"', "spam\tat 3"]
    (folder / "sms.tsv").write_text("".join(f"{row}\n" for row in rows))
    task = LabeledFile(
        folder=str(folder), train="sms.tsv", test="sms.tsv[:1]", text=2, label=1, valid=1
    )
    task = replace(task, train="sms.tsv[1:]")
    with pytest.raises(UserError, match="sms.tsv, line 2, has a quote that ends in line 4: with"):
        task.load()
    letters = replace(task, quote="").load()
    assert sum(map(len, letters.splits.values())) == 5
    assert not any("quote" in note for note in letters.notes)
    swallowed = replace(task, quote='"').load()
    assert sum(map(len, swallowed.splits.values())) == 3
    (note,) = (note for note in swallowed.notes if "quote" in note)
    assert note.startswith("1 of 3 rows of sms.tsv have a quoted field of several lines")
    assert "as in lines 2 to 4;" in note
    # one that ends in its line is one
    (folder / "sms.tsv").write_text('ham\t"a ""b"""\nham\tc\nspam\td\nspam\te\n')
    assert task.load().sources["test"] == ['a "b"']


def test_several_lines_within_quotes_are_counted_in_a_csv(folder):
    corpus = LabeledFile(folder=str(folder), valid=1).load()
    assert any(
        "1 of 5 rows of train.csv" in note and "lines 5 to 6;" in note for note in corpus.notes
    )


def test_a_file_is_parsed_once(folder, monkeypatch):
    read, paths = labeled_file.read_text, []
    monkeypatch.setattr(
        labeled_file, "read_text", lambda path, *of: paths.append(path.name) or read(path, *of)
    )
    LabeledFile(folder=str(folder), valid=1).load()
    parts = {"train": "train.csv[:3]", "test": "train.csv[3:]"}
    LabeledFile(folder=str(folder), valid=1, **parts).load()
    assert paths == ["train.csv", "test.csv", "train.csv"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"train": "train.txt"}, r"train\.txt must end in .csv or .tsv"),
        ({"train": "nowhere.csv"}, "there is no file"),
        ({"train": "train.csv[9:]"}, r"train\.csv\[9:\] holds nothing; train.csv has 4 examples"),
        ({"delimiter": ";;"}, "task.delimiter must be one character, got ';;'"),
        ({"label": 4}, "two names, or two numbers, of columns; got 'text' and 4"),
        ({"text": 1, "label": 4}, "one column must be task.label=4; .* columns 1, 2, 3"),
        ({"valid": 4}, "task.valid=4 must be less than the number of training examples, 4"),
    ],
)
def test_fields_that_do_not_fit_the_file(folder, fields, message):
    with pytest.raises(UserError, match=message):
        LabeledFile(**({"folder": str(folder), "valid": 1} | fields)).load()


def test_a_file_is_looked_for_here_and_under_the_variable(folder, tmp_path_factory, monkeypatch):
    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)
    monkeypatch.delenv("ATTNJAX_DATA", raising=False)
    task = LabeledFile(valid=1)
    with pytest.raises(NoCorpus, match=f"no file train.csv in {here}, and .*DATA, .* is not set"):
        task.load()
    monkeypatch.setenv("ATTNJAX_DATA", str(folder))
    assert task.load() == LabeledFile(folder=str(folder), valid=1).load()
    with pytest.raises(
        NoCorpus, match=f"no file mine/train.csv in {here}, nor one under ATTNJAX_DATA={folder}"
    ):
        LabeledFile(folder="mine", valid=1).load()


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0c", "\x1c", "\u00a0", "\u3000"])
def test_a_line_is_read_in_training_as_it_is_when_it_is_asked_for(folder, mark):
    """Other line ends and spaces of Unicode than those of a file are letters of a text."""
    text = f"{mark}good{mark}film{mark}"
    (folder / "train.csv").write_text(f"text,label\n{text},b\ny,b\n", newline="")
    corpus = LabeledFile(folder=str(folder), valid=1).load()
    every = [*corpus.sources["train"], *corpus.sources["valid"]]
    wanted = split_at_spaces(text)
    assert wanted in [split_at_spaces(source) for source in every]


def test_a_quote_after_a_space_is_one(folder):
    (folder / "train.csv").write_text('text,label\n"a, film", "b"\ny, b\n')
    corpus = LabeledFile(folder=str(folder), valid=1).load()
    assert {*corpus.references["train"], *corpus.references["valid"]} == {"b"}
