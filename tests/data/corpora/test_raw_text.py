"""Raw text in windows: every symbol is a target once, and its source is what stands before it."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from attnjax.data.corpora.raw_text import RawText, windows
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.special_tokens import END, START, UNKNOWN
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import NoCorpus, UserError

TEXT = "First Citizen:\nWe are accounted poor citizens.\n\nThe patricians good.\n" * 6


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return str(path)


@given(st.integers(1, 40), st.integers(1, 9), st.data())
def test_windows_are_the_text_in_pieces(count, length, data):
    stride = data.draw(st.integers(1, length))
    begin = data.draw(st.integers(1, count))
    symbols = [START, *range(100, 100 + count)]
    sizes = {"length": stride, "stride": stride, "context": length - stride + 1}
    cut = [*windows(np.array(symbols), begin, **sizes)]
    assert [symbol for window in cut for symbol in window.target] == symbols[begin:]
    place = begin
    for window in cut:
        read = [*window.source, *window.target]
        assert read == symbols[place - len(window.source) : place + len(window.target)]
        # as much as the length allows, unless the text has no more
        assert len(window.source) == min(place, length - stride + 1)
        assert len(read) - 1 <= length
        place += len(window.target)


@given(st.integers(1, 40), st.integers(1, 9), st.data())
def test_windows_overlap_where_they_begin_closer_than_they_are_long(count, length, data):
    stride = data.draw(st.integers(1, length))
    symbols = [START, *range(100, 100 + count)]
    cut = [*windows(np.array(symbols), 1, length=length, stride=stride, context=1)]
    assert [window.target[0] for window in cut] == symbols[1::stride]
    for window in cut:
        place = symbols.index(window.target[0])
        assert [*window.source, *window.target] == symbols[place - 1 : place + length]
    assert cut[-1].target[-1] == symbols[-1]


def test_training_windows_alone_overlap(file, load):
    plain, close = (load(RawText(file=file, length=32, train_stride=n)) for n in (None, 8))
    whole = len(plain.references["train"][0])
    assert len(close.splits["train"]) == -(-whole // 8)
    assert plain.splits["train"][:2] == close.splits["train"][:8:4]
    assert [plain.splits[name] for name in ("valid", "test")] == [
        close.splits[name] for name in ("valid", "test")
    ]


def test_splits_are_the_text_in_order(file, load):
    corpus = load(RawText(file=file, length=32, valid=0.2, test=0.1))
    vocabulary = corpus.vocabularies.target
    assert vocabulary == corpus.vocabularies.source
    count = len(TEXT)
    texts = {
        "train": TEXT[: round(0.7 * count)],
        "valid": TEXT[round(0.7 * count) : round(0.9 * count)],
        "test": TEXT[round(0.9 * count) :],
    }
    assert corpus.references == {split: [text] for split, text in texts.items()}
    for split, text in texts.items():
        targets = [symbol for example in corpus.splits[split] for symbol in example.target]
        assert vocabulary.decode(targets) == text
        assert END not in targets
    sources = [example.source for split in texts for example in corpus.splits[split]]
    assert sources[0] == [START]
    assert all(len(source) == 1 and source != [START] for source in sources[1:])
    assert set(vocabulary.pieces[4:]) == set(texts["train"])


def test_a_stride_gives_context_in_validation_and_test_alone(file, load):
    corpus = load(RawText(file=file, length=32, stride=8))
    lengths = {
        split: {(len(example.source), len(example.target)) for example in examples[:-1]}
        for split, examples in corpus.splits.items()
    }
    assert lengths == {"train": {(1, 32)}, "valid": {(25, 8)}, "test": {(25, 8)}}
    plain = load(RawText(file=file, length=32))
    assert corpus.digest("test") == plain.digest("test")


def test_a_split_of_nothing_is_absent(file, load):
    assert load(RawText(file=file, valid=0, test=0)).splits.keys() == {"train"}


@pytest.mark.parametrize("vocabulary", [SplitWords(), SentencePiece(size=30)])
def test_the_symbols_of_every_vocabulary_give_the_text_again(vocabulary, file, load):
    corpus = load(RawText(file=file, length=7, vocabulary=vocabulary))
    for split, examples in corpus.splits.items():
        targets = [symbol for example in examples for symbol in example.target]
        if UNKNOWN not in targets:
            assert [corpus.vocabularies.target.decode(targets)] == corpus.references[split]
    learned = corpus.splits["train"]
    assert UNKNOWN not in [symbol for example in learned for symbol in example.target]


def test_unknown_symbols_are_said(tmp_path, load):
    (tmp_path / "text.txt").write_text("aaaabbbb" * 10 + "ab?a!aab")
    corpus = load(RawText(file=str(tmp_path / "text.txt"), valid=0, test=8 / 88))
    assert [note[:33] for note in corpus.notes] == ["2 of 8 test symbols are UNKNOWN: "]


def test_a_prompt_is_an_excerpt(file, load):
    task = RawText(file=file)
    vocabulary = load(task).vocabularies.target
    assert task.ids("We are", vocabulary) == vocabulary.encode("We are")
    assert not {START, END} & {*task.ids("We are", vocabulary)}


def test_mistakes(tmp_path, load):
    (tmp_path / "spaces.txt").write_text("a b" + " " * 30)
    with pytest.raises(UserError, match="task.stride must be at most task.length, 16; got 17"):
        RawText(length=16, stride=17)
    with pytest.raises(
        UserError, match="task.train_stride must be at most task.length, 16; got 17"
    ):
        RawText(length=16, train_stride=17)
    with pytest.raises(UserError, match=r"valid \+ task.test must be below 1"):
        RawText(valid=0.5, test=0.5)
    with pytest.raises(NoCorpus, match="no file nowhere.txt"):
        load(RawText(file="nowhere.txt"))
    with pytest.raises(UserError, match="the test split has no symbols"):
        load(RawText(file=str(tmp_path / "spaces.txt"), vocabulary=SplitWords(), valid=0))
