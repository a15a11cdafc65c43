"""Regular languages: labels by other programs, exact distributions, lengths, asked places."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from attnjax.data.generated.regular_languages import (
    CycleNavigation,
    EvenPairs,
    ModularArithmetic,
    Parity,
)
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError

TASKS = [Parity, EvenPairs, CycleNavigation, ModularArithmetic]
NUMBERS = 5


def parity(words):
    return "".join(words).replace("0", "").count("1") % 2


def even_pairs(words):
    return [*map("".join, pairwise(words))].count("01") % 2 ^ (
        [*map("".join, pairwise(words))].count("10") % 2
    )


def walk(words):
    """Walk step by step on a circle that is a dictionary of neighbours."""
    right = {place: (place + 1) % NUMBERS for place in range(NUMBERS)}
    left = {there: here for here, there in right.items()}
    place = 0
    for word in words:
        place = {"1": right, "-1": left}.get(word, {}).get(place, place)
    return place


def value(words):
    return eval("".join(words)) % NUMBERS  # Python is the other program


PROGRAMS = dict(zip(TASKS, [parity, even_pairs, walk, value], strict=True))


def decoded(corpus, split):
    """Yield words, asked place and label of every example of a split, as texts."""
    source, target = (side.pieces for side in corpus.vocabularies)
    for example in corpus.splits[split]:
        ((place, label),) = np.asarray(example.target).tolist()
        yield [source[i] for i in example.source], place, target[label]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("asked", ["after", "last"])
def test_labels_are_those_of_another_program(task, asked):
    corpus = task(train=300, valid=20, test=200, longest=15, test_longest=61, asked=asked).load()
    for split in corpus.splits:
        for words, place, label in decoded(corpus, split):
            if asked == "after":
                assert words.pop() == "?"
            assert place == len(words) - (asked == "last")
            assert str(PROGRAMS[task](words)) == label


@pytest.mark.parametrize(
    ("task", "words", "label"),
    [
        # the examples of the authors' programs
        (EvenPairs, "001110", 0),
        (EvenPairs, "0101001", 1),
        (CycleNavigation, [1, -1, 0, -1, -1], 3),
        (CycleNavigation, [1, 1, 1, -1], 2),
        (ModularArithmetic, "1+2*3", 2),
        (ModularArithmetic, "1-1-1", 4),
        (ModularArithmetic, "0*1+4*3-2", 0),
        (Parity, "1101", 1),
    ],
)
def test_the_papers_examples(task, words, label):
    numbers = np.array([[task.symbols.index(str(word)) for word in words]])
    behind = np.pad(numbers, [(0, 0), (0, 6)], constant_values=1)
    present = np.arange(behind.shape[1])[None] < len(words)
    assert task().label(behind, present) == [label]
    assert PROGRAMS[task]([str(word) for word in words]) == label


def exactly(task, length):
    """Return the exact probability of every label of strings of a length."""
    if task is ModularArithmetic:
        # (sum before the last term, last term), number by number
        states = {(0, number): Fraction(1, NUMBERS) for number in range(NUMBERS)}
        for _ in range(length // 2):
            after = Counter()
            for (total, term), share in states.items():
                for sign, number in product("+-*", range(NUMBERS)):
                    end = (total + term) % NUMBERS
                    new = {
                        "+": (end, number),
                        "-": (end, -number % NUMBERS),
                        "*": (total, term * number % NUMBERS),
                    }[sign]
                    after[new] += share / (3 * NUMBERS)
            states = after
        labels = Counter()
        for (total, term), share in states.items():
            labels[(total + term) % NUMBERS] += share
    elif task is CycleNavigation:
        labels = Counter({0: Fraction(1)})
        for _ in range(length):
            after = Counter()
            for place, share in labels.items():
                for step in (-1, 0, 1):
                    after[(place + step) % NUMBERS] += share / 3
            labels = after
    else:
        one = Fraction(length > 1 or task is Parity, 2)
        labels = {0: 1 - one, 1: one}
    return [float(labels.get(label, 0)) for label in range(len(task.values))]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("length", [1, 3, 9])
def test_labels_have_their_exact_distribution(task, length):
    count = 20_000
    drawn = task().draw(np.random.default_rng(length), np.full(count, length))
    wanted = np.array(exactly(task, length))
    shares = np.bincount(drawn.labels[:, 0] - 4, minlength=len(wanted)) / count
    assert (abs(shares - wanted) <= 5 * (wanted * (1 - wanted) / count) ** 0.5).all()


@pytest.mark.parametrize("task", TASKS)
def test_chance_is_what_the_paper_says(task):
    """Deletang et al. 2023, Table 2: 50 %, and 20 % of five labels; the most probable label."""
    for length in (41, 255):
        assert max(exactly(task, length)) == pytest.approx(1 / len(task.values), abs=3e-3)
    if task is CycleNavigation:
        for length in (1, 5, 20):
            far = max(abs(share - 0.2) for share in exactly(task, length))
            assert far <= 0.54**length


@pytest.mark.parametrize("task", TASKS)
def test_symbols_are_equally_frequent_at_every_place(task):
    count, length = 20_000, 7
    drawn = task(asked="last").draw(np.random.default_rng(1), np.full(count, length))
    for place in range(length):
        allowed = range(len(task.symbols))
        if task is ModularArithmetic:
            allowed = (5, 6, 7) if place % 2 else range(5)
        shares = np.bincount(drawn.sources[:, place] - 4, minlength=len(task.symbols)) / count
        share = 1 / len(allowed)
        for symbol, got in enumerate(shares):
            if symbol in allowed:
                assert abs(got - share) < 5 * (share * (1 - share) / count) ** 0.5
            else:
                assert got == 0
    # neighbours are independent: no string of three is more frequent than it may be
    threes = Counter(map(tuple, drawn.sources[:, 2:5].tolist()))
    possible = {Parity: 8, EvenPairs: 8, CycleNavigation: 27, ModularArithmetic: 75}[task]
    assert len(threes) == possible
    deviation = (count / possible) ** 0.5
    assert all(abs(n - count / possible) < 5 * deviation for n in threes.values())


def test_lengths_in_training_and_beyond():
    fields = {"train": 4_000, "valid": 50, "test": 600, "longest": 10, "test_longest": 40}
    for task, lengths in ((Parity, range(1, 11)), (ModularArithmetic, range(1, 10, 2))):
        corpus = task(**fields).load()
        drawn = Counter((corpus.splits["train"].source.lengths - 1).tolist())
        assert sorted(drawn) == [*lengths]
        share = 4_000 / len(lengths)
        assert all(abs(n - share) < 5 * share**0.5 for n in drawn.values())
        beyond = corpus.splits["test"].source.lengths[300:] - 1
        assert set(beyond) == set(range(11, 41, lengths.step))


def test_equal_seeds_draw_equal_examples_and_other_seeds_others():
    one, same, other = (Parity(train=50, valid=5, test=5, seed=s).load() for s in (1, 1, 2))
    assert one.splits["train"].source == same.splits["train"].source
    assert one.splits["train"].source != other.splits["train"].source


def test_padding_stands_behind_the_string_and_is_not_read():
    lengths = np.array([3, 1, 5])
    drawn = CycleNavigation().draw(np.random.default_rng(0), lengths)
    assert ((drawn.sources != PAD).sum(-1) == lengths + 1).all()
    assert (drawn.sources[np.arange(3), lengths] == 4 + 3).all()


def test_an_even_shortest_length_is_refused():
    with pytest.raises(UserError, match=r"task\.shortest must be odd.*got 4"):
        ModularArithmetic(shortest=4).load()
