"""Labeled sentences: one symbol is the target, and each is in exactly one split."""

from collections import Counter

import pytest

from attnjax.data.corpora.labeled import MovieReviews, Trec, deal
from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.errors import UserError


@pytest.fixture
def trec(tmp_path):
    (tmp_path / "train.txt").write_text("0 What is it ?\n4 Where ?\n5 How far ?\n3 Who ?\n")
    (tmp_path / "test.txt").write_text("5 How far ?\n")
    return tmp_path


def reviews(folder, negative, positive):
    for suffix, lines in (("neg", negative), ("pos", positive)):
        text = "".join(line + "\n" for line in lines)
        (folder / f"rt-polarity.{suffix}").write_bytes(text.encode("windows-1252"))
    return folder


def test_a_target_is_one_label(trec):
    corpus = Trec(folder=str(trec), valid=1, seed=1).load()
    words, labels = corpus.vocabularies
    assert labels.size == 4 + 3  # of what is left of train
    for split, examples in corpus.splits.items():
        for example, reference in zip(examples, corpus.references[split], strict=True):
            assert example.source[-1] == END
            (label,) = example.target
            assert label not in (PAD, START, END)
            assert label == UNKNOWN or labels.decode([label]) == reference
    assert [words.decode(example.source) for example in corpus.splits["train"]] == [
        *corpus.sources["train"]
    ]
    # two corpora under the same vocabularies are the same
    assert Trec(folder=str(trec), valid=1, seed=1).load(corpus.vocabularies) == corpus


def test_folds(tmp_path):
    folder = reviews(tmp_path, [f"bad {n}" for n in range(23)], [f"good {n}" for n in range(20)])
    tests = Counter()
    for fold in range(10):
        corpus = MovieReviews(folder=str(folder), fold=fold, valid=5).load()
        counts = {name: len(examples) for name, examples in corpus.splits.items()}
        assert sum(counts.values()) == 43
        assert counts["valid"] == 5
        balance = Counter(corpus.references["test"])
        assert balance["positive"] == 2
        assert 2 <= balance["negative"] <= 3
        split = [set(sources) for sources in corpus.sources.values()]
        assert len(set.union(*split)) == 43  # no sentence is in two
        tests.update(corpus.sources["test"])
        for name in corpus.splits:
            pairs = zip(corpus.sources[name], corpus.references[name], strict=True)
            assert all(source[:3] == {"n": "bad", "p": "goo"}[label[0]] for source, label in pairs)
    assert set(tests.values()) == {1}
    assert len(tests) == 43


def test_the_folds_are_dealt_evenly_and_by_the_seed_alone():
    assert sorted(Counter(deal(27, 0)).values()) == [2] * 3 + [3] * 7
    assert deal(27, 0) == deal(27, 0) != deal(27, 1)


def test_windows_1252(tmp_path):
    folder = reviews(
        tmp_path, [f"na\u00efve \u2026 {n}" for n in range(10)], [f"{n}" for n in range(10)]
    )
    corpus = MovieReviews(folder=str(folder), valid=1).load()
    assert "na\u00efve" in corpus.vocabularies.source.pieces


@pytest.mark.parametrize("fold", [-1, 10])
def test_there_are_ten_folds(fold):
    with pytest.raises(UserError, match=f"task.fold must be from 0 to 9, got {fold}"):
        MovieReviews(fold=fold).load()


def test_real_questions(data, monkeypatch):
    monkeypatch.setenv("ATTNJAX_DATA", str(data))
    corpus = Trec().load()
    counts = {name: len(examples) for name, examples in corpus.splits.items()}
    assert counts == {"train": 4_952, "valid": 500, "test": 500}
    assert set(corpus.vocabularies.target.pieces[4:]) == set("012345")
    assert Counter(corpus.references["test"])["2"] == 9


def test_real_reviews(data, monkeypatch):
    monkeypatch.setenv("ATTNJAX_DATA", str(data))
    corpus = MovieReviews(fold=3).load()
    counts = {name: len(examples) for name, examples in corpus.splits.items()}
    assert counts == {"train": 10_662 - 500 - 1_066, "valid": 500, "test": 1_066}
    assert Counter(corpus.references["test"]) == {"negative": 533, "positive": 533}
    assert "cliché" in corpus.vocabularies.source.pieces
