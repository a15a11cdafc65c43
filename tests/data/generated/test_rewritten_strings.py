"""Strings that are written down again: the answer, where it is asked for, and how it is drawn."""

from collections import Counter

import numpy as np
import pytest

from attnjax.data.generated.rewritten_strings import DuplicateString, ReverseString

ANSWERS = {DuplicateString: lambda text: text + text, ReverseString: lambda text: text[::-1]}


@pytest.mark.parametrize("task", ANSWERS)
@pytest.mark.parametrize("symbols", [2, 5])
def test_the_answer_is_asked_for_on_empty_symbols(task, symbols):
    fields = {"train": 200, "valid": 20, "test": 100, "longest": 9, "test_longest": 30}
    corpus = task(**fields, symbols=symbols).load()
    source, target = (side.pieces for side in corpus.vocabularies)
    seen = set()
    for split in corpus.splits.values():
        for example in split:
            text = "".join(source[i] for i in example.source)
            string = text.rstrip("?")
            places, labels = np.asarray(example.target).T
            answer = "".join(target[i] for i in labels)
            assert answer == ANSWERS[task](string)
            assert text == string + "?" * len(answer)
            assert places.tolist() == [*range(len(string), len(text))]
            seen |= set(string)
    assert seen == set(map(str, range(symbols)))


@pytest.mark.parametrize("task", ANSWERS)
def test_symbols_are_independent_and_every_string_equally_frequent(task):
    """So chance is 1 / symbols at every place: Deletang et al. 2023, Table 2, 50 %."""
    count = 16_000
    drawn = task().draw(np.random.default_rng(3), np.full(count, 4))
    strings = Counter(map(tuple, drawn.sources[:, :4].tolist()))
    assert len(strings) == 16
    assert all(abs(n - 1_000) < 5 * 1_000**0.5 for n in strings.values())
    assert (abs((drawn.labels == 4).mean(0) - 0.5) < 5 * 0.5 / count**0.5).all()


@pytest.mark.parametrize("task", ANSWERS)
def test_lengths_are_those_of_the_strings(task):
    corpus = task(train=900, valid=9, test=40, longest=9, test_longest=29).load()
    copies = {DuplicateString: 3, ReverseString: 2}[task]
    assert set(corpus.splits["train"].source.lengths) == {copies * n for n in range(1, 10)}
    beyond = corpus.splits["test"].source.lengths[20:]
    assert set(beyond) == {copies * n for n in range(10, 30)}
