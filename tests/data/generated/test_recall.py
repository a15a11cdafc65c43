"""The answer is the value that stands behind the key asked for, and nowhere else is the key."""

from math import perm

import pytest

from attnjax.data.generated.recall import AssociativeRecall
from attnjax.data.special_tokens import END
from attnjax.errors import UserError

SMALL = {"train": 60, "valid": 10, "test": 15, "keys": 5, "values": 3, "fewest": 2, "most": 4}


def test_the_value_of_the_key():
    corpus = AssociativeRecall(**SMALL).load()
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


def test_the_seed_alone_decides():
    assert AssociativeRecall(**SMALL).load() == AssociativeRecall(**SMALL).load()
    other = AssociativeRecall(**SMALL, seed=1).load()
    assert other.splits != AssociativeRecall(**SMALL).load().splits
    assert AssociativeRecall(**SMALL).load(other.vocabularies).vocabularies is other.vocabularies


def test_all_examples_can_be_wanted_and_none_more():
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
        ({"fewest": 0}, "task.fewest must be at least 1, got 0"),
        ({"values": 0}, "task.values must be at least 1, got 0"),
        ({"seed": -1}, "task.seed must be at least 0, got -1"),
    ],
)
def test_fields_out_of_range(fields, message):
    with pytest.raises(UserError, match=message):
        AssociativeRecall(**(SMALL | fields)).load()
