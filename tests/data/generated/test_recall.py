"""Multi-query associative recall against a program that draws one example after the other."""

import numpy as np
import pytest

from attnjax.data.generated.recall import MultiQueryRecall
from attnjax.errors import UserError


def drawn_one_by_one(generator, symbols, pairs, length, power):
    """Arora et al. 2023 as their program says it: a word number for every place, values by place.

    Numbers from 1 to symbols / 2 - 1 are keys, those from symbols / 2 on values, 0 is neither.
    """
    keys = generator.choice(np.arange(1, symbols // 2), pairs, replace=False)
    values = generator.choice(np.arange(symbols // 2, symbols), pairs, replace=False)
    room = (length - 2 * pairs) // 2
    weights = power * np.arange(1, room + 1) ** (power - 1)
    gaps = generator.choice(room, pairs, replace=False, p=weights / weights.sum())
    words, labels = np.zeros(length, int), {}
    for pair in range(pairs):
        words[2 * pair], words[2 * pair + 1] = keys[pair], values[pair]
        words[2 * pairs + 2 * gaps[pair]] = keys[pair]
        labels[int(2 * pairs + 2 * gaps[pair])] = int(values[pair])
    return words, labels


SMALL = MultiQueryRecall(symbols=12, pairs=3, shortest=16, longest=16, train=6_000, seed=1)


def test_every_example_asks_each_key_once_for_the_value_of_its_pair():
    corpus = SMALL.load()
    for example in corpus.splits["test"]:
        words = corpus.vocabularies.source.tokens(example.source)
        pairs = dict(zip(words[0:6:2], words[1:6:2], strict=True))
        assert len(pairs) == len({*pairs.values()}) == 3
        assert all(key[0] == "k" for key in pairs)
        assert all(value[0] == "v" for value in pairs.values())
        asked = dict(example.target.tolist())
        assert sorted(words[place] for place in asked) == sorted(pairs)
        for place, label in asked.items():
            assert place >= 6
            assert place % 2 == 0
            assert corpus.vocabularies.target.pieces[label] == pairs[words[place]]
        rest = [words[place] for place in range(6, 16) if place not in asked]
        assert set(rest) == {"-"}


def test_symbols_and_gaps_are_distributed_as_one_by_one():
    generator = np.random.default_rng(0)
    wanted = [drawn_one_by_one(generator, 12, 3, 16, 0.01) for _ in range(6_000)]
    found = SMALL.load().splits["train"]
    # words: 0 and "-" have the id 4, the keys 1 to 5 follow, then the values 6 to 11
    theirs = np.array([words for words, _ in wanted])
    ours = np.array([example.source for example in found]) - 4
    for place in range(16):
        counts = [np.bincount(side[:, place], minlength=12) for side in (theirs, ours)]
        # both are binomial: a difference has at most a standard deviation of sqrt(6,000 / 2)
        assert np.abs(counts[0] - counts[1]).max() < 4.5 * np.sqrt(3_000)
    # where the first pair's key is asked tells the order in which gaps are drawn
    first = [
        np.bincount([row[6:].tolist().index(row[0]) for row in side], minlength=10)
        for side in (theirs, ours)
    ]
    assert first[0][::2].min() > 100
    assert np.abs(first[0] - first[1]).max() < 4.5 * np.sqrt(3_000)
    assert first[1][0] > 2 * first[1][8]


def test_longer_sources_than_in_training_have_the_same_pairs_and_longer_gaps():
    task = MultiQueryRecall(
        symbols=12, pairs=2, shortest=8, longest=12, test_longest=32, train=20, valid=5, test=40
    )
    corpus = task.load()
    assert set(corpus.splits["train"].source.lengths.tolist()) == {8, 10, 12}
    beyond = [example for example in corpus.splits["test"] if len(example.source) > 12]
    assert {len(example.source) for example in beyond} == {14, 16, 18, 20, 22, 24, 26, 28, 30, 32}
    assert all((example.target[:, 0] < len(example.source)).all() for example in beyond)
    assert max(int(example.target[:, 0].max()) for example in beyond) > 12


def test_the_default_has_the_papers_sizes():
    task = MultiQueryRecall(train=10, valid=1, test=1)
    assert len(task.source_words) == 8192
    assert sum(word[0] == "k" for word in task.source_words) == 4095
    assert sum(word[0] == "v" for word in task.source_words) == 4096
    example = task.load().splits["train"][0]
    assert (len(example.source), len(example.target)) == (64, 4)


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"symbols": 8}, r"task.pairs must be at most the 3 keys of task.symbols=8, got 4"),
        ({"shortest": 63}, r"task.shortest must be even and at least 4 task.pairs=16, got 63"),
        ({"shortest": 14}, r"task.shortest must be even and at least 4 task.pairs=16, got 14"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(fields, message):
    with pytest.raises(UserError, match=message):
        MultiQueryRecall(**fields).load()
