"""Division modulo a prime: every pair once, quotients by search, and the halves."""

from collections import Counter

import numpy as np
import pytest

from attnjax.data.generated.modular_division import ModularDivision
from attnjax.errors import UserError

SPLITS = ("train", "valid", "test")


def read(task: ModularDivision) -> dict[str, list[tuple[int, int, int]]]:
    """The entries (a, b, c) of each split, from its words."""
    corpus, found = task.load(), {}
    words = corpus.vocabularies.source
    assert corpus.vocabularies.target == words
    for split, examples in corpus.splits.items():
        found[split] = []
        for source, target, _ in examples:
            a, divided, b, equals = words.decode(source).split()
            ((place, label),) = np.asarray(target).tolist()
            assert (divided, equals, place) == ("/", "=", 3)
            found[split].append((int(a), int(b), int(words.decode([label]))))
    return found


@pytest.mark.parametrize("modulus", [3, 7, 97])
def test_every_pair_is_there_once_with_the_quotient_that_a_search_finds(modulus):
    found = read(ModularDivision(modulus=modulus))
    every = [entry for split in SPLITS for entry in found[split]]
    for a, b, c in every:
        assert [c] == [guess for guess in range(modulus) if guess * b % modulus == a]
    pairs = Counter((a, b) for a, b, _ in every)
    assert pairs == Counter((a, b) for a in range(modulus) for b in range(1, modulus))


def test_half_of_the_papers_table_trains_and_quotients_are_at_chance():
    found = read(ModularDivision())
    assert [len(found[split]) for split in SPLITS] == [4_656, 2_328, 2_328]
    quotients = Counter(c for _, _, c in found["train"])
    # 96 of each quotient in the table, half of them drawn: the deviation is 5
    assert len(quotients) == 97
    assert max(abs(count - 48) for count in quotients.values()) < 25


def test_the_seed_draws_the_half():
    first, again, other = (read(ModularDivision(modulus=11, seed=seed)) for seed in (0, 0, 1))
    assert first == again
    assert {*first["train"]} != {*other["train"]}
    seeded = ModularDivision(modulus=11).of_seed(1)
    assert read(seeded) == other
    assert seeded.of_seed(2) == seeded
    digests = {ModularDivision(modulus=11, seed=seed).load().digest("train") for seed in (0, 1)}
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"modulus": 1}, "task.modulus must be a prime; got 1"),
        ({"modulus": 91}, "task.modulus must be a prime; got 91"),
        ({"modulus": 20_011}, r"at most 268,435,456 numbers; task.modulus=20011 would draw 1,601,"),
        ({"modulus": 3, "train_share": 0.9}, "of 6 pairs leaves a split without an example"),
    ],
)
def test_tables_that_do_not_exist(fields, message):
    with pytest.raises(UserError, match=message):
        ModularDivision(**fields).load()
