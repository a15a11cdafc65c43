"""Addition: every question backwards, with its sum, and no pair of numbers twice."""

import numpy as np
import pytest

from attnjax.data.generated.addition import Addition
from attnjax.errors import UserError


def read(task: Addition) -> dict[str, list[tuple[int, int]]]:
    """The pairs of numbers of each split, whose sums are checked."""
    corpus, found = task.load(), {}
    words, n = corpus.vocabularies.source, task.digits
    assert corpus.vocabularies.target == words
    for split, examples in corpus.splits.items():
        found[split] = []
        for source, target, _ in examples:
            text = words.decode(source).replace(" ", "")
            places, labels = np.asarray(target).T.tolist()
            assert places == [*range(2 * n + 1, 3 * n + 2)]
            assert text[2 * n + 1 :] == "?" * (n + 1)
            question, answer = text[2 * n :: -1], words.decode(labels).replace(" ", "")
            assert len(answer) == n + 1
            a, b = question.rstrip("_").split("+")
            assert str(int(a) + int(b)) == answer.rstrip("_")
            assert all(str(int(number)) == number for number in (a, b))
            found[split].append((int(a), int(b)))
    return found


@pytest.mark.parametrize("digits, train, test", [(1, 40, 15), (2, 4_500, 550), (3, 90, 10)])
def test_no_two_numbers_are_added_twice(digits, train, test):
    found = read(Addition(digits=digits, train=train, test=test))
    assert [len(found[split]) for split in ("train", "test")] == [train, test]
    every = [pair for pairs in found.values() for pair in pairs]
    assert len({tuple(sorted(pair)) for pair in every}) == train + test
    assert max(map(max, every)) < 10**digits
    # either number comes first
    assert 0.3 < np.mean([a <= b for a, b in every if a != b]) < 0.7


def test_the_seed_draws_the_splits():
    first, again, other = (read(Addition(seed=seed)) for seed in (0, 0, 1))
    assert first == again
    assert {*first["test"]} != {*other["test"]}


def test_more_pairs_than_there_are():
    with pytest.raises(UserError, match="need 56 different pairs of numbers; task.digits=1 makes"):
        Addition(digits=1, train=50, test=6).load()
