"""Counter languages and periodic ones: every string of a length, and what may follow, by search."""

from collections import Counter
from functools import cache
from itertools import product
from math import prod

import numpy as np
import pytest

from attnjax.data.generated.counter_languages import (
    BooleanExpression,
    EqualBlocks,
    ShuffledBrackets,
)
from attnjax.data.generated.regular_languages import EvenOnes, Repeated
from attnjax.errors import UserError


def balanced(text):
    """Delete one kind of bracket after the other, and pairs while there are any."""
    for pair in ("()", "[]"):
        kind = "".join(letter for letter in text if letter in pair)
        while pair in kind:
            kind = kind.replace(pair, "")
        if kind:
            return False
    return True


def expression(text):
    """Parse an expression by recursive descent; return whether it is whole, and nothing is left."""

    def rest(text):
        if not text:
            return None
        head, text = text[0], text[1:]
        for _ in range("01~+>".index(head) - 1 if head in "~+>" else 0):
            text = rest(text)
            if text is None:
                return None
        return text

    return rest(text) == ""


def blocks(text):
    third = len(text) // 3
    return text == "a" * third + "b" * third + "c" * third


MEMBER = {
    "brackets": balanced,
    "boolean": expression,
    "blocks": blocks,
    "even": lambda text: text.count("1") % 2 == 0,
    "aa": lambda text: len(text) % 2 == 0,
    "abab": lambda text: text == "abab" * (len(text) // 4),
}
TASKS = {
    "brackets": (ShuffledBrackets(), 6),
    "boolean": (BooleanExpression(), 5),
    "blocks": (EqualBlocks(), 9),
    "even": (EvenOnes(), 5),
    "aa": (Repeated(unit="aa"), 8),
    "abab": (Repeated(unit="abab"), 8),
}


@cache
def language(name, longest):
    """Return every string of the language up to a length, by trying all strings."""
    letters = TASKS[name][0].source_words
    return {
        text
        for length in range(1, longest + 1)
        for text in map("".join, product(letters, repeat=length))
        if MEMBER[name](text)
    }


def texts(task, drawn):
    return ["".join(task.source_words[i - 4] for i in row if i) for row in drawn.sources]


@pytest.mark.parametrize("name", TASKS)
def test_every_string_of_a_length_is_drawn_as_often_as_it_should_be(name):
    task, length = TASKS[name]
    count = 20_000
    drawn = Counter(texts(task, task.draw(np.random.default_rng(5), np.full(count, length))))
    wanted = {text: 1.0 for text in language(name, length) if len(text) == length}
    if name == "boolean":
        chances = dict.fromkeys("01", 1 / 4) | dict.fromkeys("~+>", 1 / 6)
        wanted = {text: prod(map(chances.get, text)) for text in wanted}
    total = sum(wanted.values())
    assert set(drawn) <= set(wanted)
    for text, weight in wanted.items():
        share = weight / total
        assert abs(drawn[text] - count * share) <= 5 * (count * share * (1 - share)) ** 0.5 + 1e-9


# a prefix may be followed by what follows it in any string that is at most so much longer
FURTHER = {"brackets": 2, "boolean": 3, "blocks": 3, "even": 3, "aa": 3, "abab": 4}


@pytest.mark.parametrize("name", TASKS)
def test_labels_are_what_may_follow(name):
    task, length = TASKS[name]
    length = {"brackets": 4, "boolean": 4, "blocks": 6, "even": 5}.get(name, 8)
    drawn = task.draw(np.random.default_rng(6), np.full(60, length))
    longer = language(name, length + FURTHER[name]) | {""}
    for text, labels in dict(zip(texts(task, drawn), drawn.labels.tolist(), strict=True)).items():
        for end, label in enumerate(labels, start=1):
            prefix, label = text[:end], task.label_words[label - 4]
            follows = {word[end] for word in longer if word.startswith(prefix) and word != prefix}
            may_end = prefix in longer
            if name == "brackets":
                assert follows == {*"([", *(")" if label[0] == "1" else "")} | (
                    {"]"} if label[1] == "1" else set()
                )
                assert may_end == (label == "00")
            elif name == "blocks":
                assert (follows, may_end) == (
                    set() if label == "end" else set(label),
                    label == "end",
                )
            else:
                assert may_end == (label == "1")
                if name == "boolean":
                    assert follows == (set() if may_end else set("01~+>"))


@pytest.mark.parametrize("name", TASKS)
def test_lengths_and_places(name):
    task, _ = TASKS[name]
    lengths = np.array([1, 3, 2]) * 12
    drawn = task.draw(np.random.default_rng(0), lengths)
    assert [len(text) for text in texts(task, drawn)] == [*lengths]
    assert all(MEMBER[name](text) for text in texts(task, drawn))
    for row, length in enumerate(lengths):
        example = drawn.examples()[row]
        assert np.asarray(example.target)[:, 0].tolist() == [*range(length)]


def test_long_strings_do_not_run_out_of_numbers():
    drawn = ShuffledBrackets().draw(np.random.default_rng(0), np.full(50, 200))
    assert all(map(balanced, texts(ShuffledBrackets(), drawn)))
    # half of the places, or more, lie within an open bracket of either kind
    depths = ShuffledBrackets().counters(drawn.sources - 4)
    assert depths.min() == 0
    assert depths.max() > 8


def test_a_length_that_no_string_has_is_refused():
    with pytest.raises(UserError, match=r"task\.shortest must be a multiple of 3.*got 4"):
        EqualBlocks(shortest=4).load()
    with pytest.raises(UserError, match="multiple of 4"):
        Repeated(unit="abab", shortest=6).load()


def test_strings_whose_counters_no_memory_holds_are_refused():
    with pytest.raises(UserError, match="strings of 256 symbols with 3 counters would draw 4,430,"):
        ShuffledBrackets(kinds=3, longest=40, test_longest=256).load()
