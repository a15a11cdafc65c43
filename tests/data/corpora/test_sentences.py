"""Sentences of other tasks, pairs of lines, and a vocabulary that tasks share."""

import numpy as np
import pytest

from attnjax.data import (
    END,
    LabeledFile,
    LearnedFrom,
    SentencePairs,
    Shapes,
    SplitWords,
    Unlabeled,
)
from attnjax.errors import UserError

LINES = [f"w{n} is word {n}" for n in range(60)]


@pytest.fixture
def book(tmp_path):
    """Two documents of thirty lines."""
    path = tmp_path / "book.txt"
    path.write_text("\n".join([*LINES[:30], "", *LINES[30:]]) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def reviews(tmp_path):
    text = "text,label\n" + "".join(f"{line},good\n" for line in LINES)
    (tmp_path / "reviews.csv").write_text(text, encoding="utf-8")
    return LabeledFile(
        folder=str(tmp_path), train="reviews.csv[:50]", test="reviews.csv[50:]", valid=10
    )


def test_sentences_are_the_training_sources_of_other_tasks_and_nothing_else(reviews):
    corpus = Unlabeled(tasks=(reviews,), valid=5, test=6).load()
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "train": 29,
        "valid": 5,
        "test": 6,
    }
    found = [text for texts in corpus.sources.values() for text in texts]
    assert sorted(found) == sorted(reviews.load().sources["train"])
    vocabulary = corpus.vocabularies.source
    assert corpus.vocabularies.target is None
    for name, split in corpus.splits.items():
        for example, text in zip(split, corpus.sources[name], strict=True):
            assert (example.source, example.target) == ([*vocabulary.encode(text), END], [])
    assert Unlabeled(tasks=(reviews,), valid=5, test=6).load().splits == corpus.splits


def test_a_vocabulary_learned_from_other_tasks_is_one(reviews):
    shared = LearnedFrom(vocabulary=SplitWords(min_count=2), tasks=(reviews,))
    one = Unlabeled(tasks=(reviews,), valid=5, test=6, vocabulary=shared).load()
    other = LabeledFile(
        folder=reviews.folder,
        train="reviews.csv[:20]",
        test="reviews.csv[50:]",
        valid=2,
        vocabulary=shared,
    ).load()
    assert one.vocabularies.source.digest == other.vocabularies.source.digest
    assert one.vocabularies.source.pieces[4:] == ("is", "word")


def test_half_of_the_pairs_are_lines_in_a_row(book):
    corpus = SentencePairs(files=(book,), valid=8, test=10).load()
    assert corpus.vocabularies.target.pieces[4:] == ("next", "other")
    labels = {4: 0, 5: 0}
    for name, split in corpus.splits.items():
        for example, text in zip(split, corpus.sources[name], strict=True):
            first, second = text.split("\t")
            assert first in LINES
            assert second in LINES
            (label,) = example.target
            labels[label] += 1
            if label == 4:
                place = LINES.index(first)
                assert second == LINES[place + 1]
                assert place != 29  # the last line of a document has none behind it
            encode = corpus.vocabularies.source.encode
            assert example.source == [*encode(first), END, *encode(second), END]
    assert sum(labels.values()) == 58
    assert abs(labels[4] - 29) < 4 * np.sqrt(58 / 4)
    again = SentencePairs(files=(book,), valid=8, test=10).load()
    assert again.splits == corpus.splits
    other = SentencePairs(files=(book,), valid=8, test=10, seed=1).load()
    assert other.sources != corpus.sources


def test_half_of_many_pairs_are_lines_in_a_row(tmp_path):
    """Of 10,000 pairs, within four standard deviations: 0.02."""
    (tmp_path / "book.txt").write_text("line\n" * 10_001, encoding="utf-8")
    rest, test = SentencePairs(files=(str(tmp_path / "book.txt"),), test=1).read()
    share = np.mean([example.target == "next" for example in rest + test])
    assert abs(share - 0.5) < 4 * 0.5 / 100


def test_a_pair_is_two_sentences_of_another_task(book):
    pairs = SentencePairs(files=(book,), valid=8, test=10)
    corpus = Unlabeled(tasks=(pairs,), valid=5, test=6).load()
    found = sorted(text for texts in corpus.sources.values() for text in texts)
    both = (text.split("\t") for text in pairs.load().sources["train"])
    assert found == sorted(sentence for pair in both for sentence in pair)


def test_words_stand_for_the_ids_but_the_last(book):
    task = SentencePairs(files=(book,), valid=8, test=10)
    vocabulary = task.load().vocabularies.source
    words = task.words("w1 is\tstrange", vocabulary)
    assert words == ["w1", "is", "<end>", "strange"]
    assert len(words) == len(task.ids("w1 is\tstrange", vocabulary)) - 1


def test_what_is_too_little_is_refused(reviews, book):
    with pytest.raises(UserError, match=r"task.valid=30 and task.test=20 .* sentences, 40"):
        Unlabeled(tasks=(reviews,), valid=30, test=20).load()
    with pytest.raises(UserError, match=r"task.test=58 must be less .* 58"):
        SentencePairs(files=(book,), valid=8, test=58).load()
    with pytest.raises(UserError, match="the sources of the task .* are not text"):
        Unlabeled(tasks=(Shapes(train=4, valid=2, test=2),), valid=1, test=1).load()
