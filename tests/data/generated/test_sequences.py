"""Generated sequences: the answer, where it comes from, and no sequence twice."""

from math import perm

import pytest

from attnjax.data.generated.sequences import AssociativeRecall, Copy, Reverse, Sort, Zip
from attnjax.data.special_tokens import END
from attnjax.errors import UserError

SMALL = {"train": 40, "valid": 10, "test": 15, "symbols": 7, "shortest": 2, "longest": 5}
RECALL = {"train": 60, "valid": 10, "test": 15, "keys": 5, "values": 3, "fewest": 2, "most": 4}


@pytest.mark.parametrize("task", [Copy(**SMALL), Reverse(**SMALL)], ids=["copy", "reverse"])
def test_target_alignment_and_disjoint_splits(task):
    corpus = task.load()
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "train": 40,
        "valid": 10,
        "test": 15,
    }
    assert corpus.vocabularies.target.size == 4 + 7
    sources = [tuple(e.source) for split in corpus.splits.values() for e in split]
    assert len(set(sources)) == 65
    assert {len(source) - 1 for source in sources} == {2, 3, 4, 5}
    for name, split in corpus.splits.items():
        for example, reference in zip(split, corpus.references[name], strict=True):
            symbols = example.source[:-1]
            wanted = symbols if isinstance(task, Copy) else symbols[::-1]
            assert example.target == [*wanted, END]
            assert corpus.vocabularies.target.decode(example.target) == reference
            *links, end = example.alignment
            assert end == frozenset()
            # every symbol is linked to one place, each place once, and finds itself there
            places = [place for (place,) in links]
            assert [example.source[place] for place in places] == example.target[:-1]
            assert sorted(places) == list(range(len(symbols)))
            assert places == sorted(places, reverse=isinstance(task, Reverse))


def test_sorted_symbols_may_come_from_any_of_their_places():
    corpus = Sort(**SMALL).load()
    ties = 0
    for name, split in corpus.splits.items():
        for example, reference in zip(split, corpus.references[name], strict=True):
            symbols = [
                int(word) for word in corpus.vocabularies.source.decode(example.source).split()
            ]
            assert reference == " ".join(map(str, sorted(symbols)))
            assert corpus.vocabularies.target.decode(example.target) == reference
            assert example.alignment is not None
            *links, end = example.alignment
            assert end == frozenset()
            for symbol, places in zip(sorted(symbols), links, strict=True):
                assert places == {p for p, other in enumerate(symbols) if other == symbol}
                ties += len(places) > 1
    assert ties


@pytest.mark.parametrize("lists", [2, 3])
def test_a_zip_joins_the_symbols_at_one_place_of_every_list(lists):
    corpus = Zip(**SMALL | {"longest": 4}, lists=lists).load()
    assert corpus.vocabularies.target.size == 4 + 7 + 7**lists
    for name, split in corpus.splits.items():
        for source, target, example in zip(
            corpus.sources[name], corpus.references[name], split, strict=True
        ):
            words, length = source.split(), len(target.split())
            rows = [words[start : start + length] for start in range(0, len(words), length)]
            assert len(words) == lists * length
            assert target.split() == ["-".join(column) for column in zip(*rows, strict=True)]
            assert example.alignment is not None
            for place, links in enumerate(example.alignment[:-1]):
                assert links == {place + length * number for number in range(lists)}


def test_the_seed_alone_decides():
    assert Copy(**SMALL).load() == Copy(**SMALL).load()
    assert Copy(**SMALL).load().splits != Copy(**SMALL, seed=1).load().splits


def test_a_given_vocabulary_is_used():
    given = Copy(symbols=30, train=1, valid=1, test=1).load().vocabularies
    assert Reverse(**SMALL).load(given).vocabularies is given


def test_all_sequences_can_be_wanted_and_none_more():
    limits = {"symbols": 3, "shortest": 1, "longest": 3, "valid": 4, "test": 5}
    corpus = Copy(train=30, **limits).load()  # 3 + 9 + 27 = 39
    assert len({e.target[0] for e in corpus.splits["train"]}) == 3
    with pytest.raises(UserError, match=r"40 different sequences; 3 symbols .* 1 to 3 make 39"):
        Copy(train=31, **limits).load()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"shortest": 6}, "task.longest must be at least task.shortest=6, got 5"),
        ({"symbols": 0}, "task.symbols: wanted .*; got .*0"),
        ({"shortest": 0}, "task.shortest: wanted .*; got .*0"),
        ({"train": 0}, "task.train: wanted .*; got .*0"),
        ({"test": -1}, "task.test: wanted .*; got .*-1"),
        ({"seed": -1}, "task.seed: wanted .*; got .*-1"),
    ],
)
def test_fields_out_of_range(load, fields, message):
    with pytest.raises(UserError, match=message):
        load(Reverse(**(SMALL | fields)))


def test_the_value_of_the_key():
    corpus = AssociativeRecall(**RECALL).load()
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "train": 60,
        "valid": 10,
        "test": 15,
    }
    assert corpus.vocabularies.sizes == (4 + 5 + 3, 4 + 5 + 3)
    seen, places, pairs = set(), set(), set()
    for name, split in corpus.splits.items():
        for example, text, answer in zip(
            split, corpus.sources[name], corpus.references[name], strict=True
        ):
            *told, asked = text.split()
            keys, values = told[::2], told[1::2]
            assert len(set(keys)) == len(keys)
            assert dict(zip(keys, values, strict=True))[asked] == answer
            assert corpus.vocabularies.source.decode(example.source) == text
            assert corpus.vocabularies.target.decode(example.target) == answer
            value, end = example.target
            assert example.alignment is not None
            (place,), nothing = example.alignment
            assert (end, nothing) == (END, frozenset())
            assert example.source[place] == value
            assert text.split()[place - 1] == asked
            seen.add(text)
            places.add(place)
            pairs.add(len(keys))
    assert len(seen) == 85
    assert pairs == {2, 3, 4}
    assert places == {1, 3, 5, 7}


def test_the_seed_alone_decides_what_is_recalled():
    assert AssociativeRecall(**RECALL).load() == AssociativeRecall(**RECALL).load()
    other = AssociativeRecall(**RECALL, seed=1).load()
    assert other.splits != AssociativeRecall(**RECALL).load().splits
    assert AssociativeRecall(**RECALL).load(other.vocabularies).vocabularies is other.vocabularies


def test_all_recalls_can_be_wanted_and_none_more():
    limits = {"keys": 3, "values": 2, "fewest": 1, "most": 2, "valid": 4, "test": 5}
    possible = perm(3, 1) * 2 + perm(3, 2) * 4 * 2
    corpus = AssociativeRecall(train=possible - 9, **limits).load()
    assert len({text for split in corpus.sources.values() for text in split}) == possible
    with pytest.raises(UserError, match=rf"{possible + 1} different .*2 pairs make {possible}"):
        AssociativeRecall(train=possible - 8, **limits).load()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"most": 6}, "task.most must be from task.fewest=2 to task.keys=5, got 6"),
        ({"most": 1}, "task.most must be from task.fewest=2 to task.keys=5, got 1"),
        ({"fewest": 0}, "task.fewest: wanted .*; got .*0"),
        ({"values": 0}, "task.values: wanted .*; got .*0"),
        ({"seed": -1}, "task.seed: wanted .*; got .*-1"),
    ],
)
def test_fields_of_recall_out_of_range(load, fields, message):
    with pytest.raises(UserError, match=message):
        load(AssociativeRecall(**(RECALL | fields)))
