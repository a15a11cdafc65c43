"""What guesses without a network get right, beside loops that do the same label by label."""

import runpy
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from attnjax.data import (
    DuplicateString,
    MultiQueryRecall,
    Parity,
    ShuffledBrackets,
)
from attnjax.data.corpus import Corpus
from attnjax.evaluation.guesses import AskedLabels, by_position, by_table, shares_of_guesses
from attnjax.experiment.load import load
from attnjax.lab.runs.catalog import find

PROGRAM = Path(__file__).parents[2] / "docs" / "programs" / "guesses.py"
SPLITS = {"train": 300, "valid": 4, "test": 60}
TASKS = {
    "parity": Parity(longest=6, test_longest=12, test_every=3, **SPLITS),
    "brackets": ShuffledBrackets(longest=6, test_longest=12, **SPLITS),
    "copy": DuplicateString(longest=4, test_longest=8, **SPLITS),
    "recall": MultiQueryRecall(symbols=12, shortest=16, longest=16, test_longest=24, **SPLITS),
}


def labels(corpus: Corpus, split: str):
    """Yield the words of the source, the place and the label of each label of a split."""
    examples = corpus.splits[split]
    for source, target in zip(examples.source, examples.target, strict=True):
        for place, label in np.asarray(target).tolist():
            yield tuple(np.asarray(source).tolist()), place, label


def word(source: tuple[int, ...], place: int) -> int:
    return source[place] if 0 <= place < len(source) else -1


def rules(known: list[int], width: int):
    """Yield every guess, in the order in which equally good ones are preferred."""
    yield from ((lambda source, place, label=label: label) for label in known)
    for far in range(width):
        yield lambda source, place, far=far: word(source, far)
        yield lambda source, place, far=far: word(source, len(source) - 1 - far)
        yield lambda source, place, far=far: word(source, place - far)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_guesses_by_position_and_by_table_equal_a_loop_over_labels(task):
    corpus = task.load()
    train, test = [*labels(corpus, "train")], [*labels(corpus, "test")]
    every = [*rules(sorted({label for *_, label in train}), max(len(s) for s, *_ in train))]

    def best(rows):
        right = [sum(rule(s, p) == label for s, p, label in rows) for rule in every]
        return every[right.index(max(right))]

    expected = []
    for source, place, _ in test:
        rows = [row for row in train if (len(row[0]), row[1]) == (len(source), place)]
        if not rows:
            before = [p for _, p, _ in train if p <= place] or [min(p for _, p, _ in train)]
            rows = [row for row in train if row[1] == max(before)]
        expected.append(best(rows)(source, place))
    assert by_position(corpus).tolist() == expected
    table = {(source, place): label for source, place, label in train}
    by_heart = [table.get(row[:2], guess) for row, guess in zip(test, expected, strict=True)]
    assert by_table(corpus).tolist() == by_heart


def test_the_shares_count_labels_within_and_lengths_beyond():
    corpus, longest = TASKS["brackets"].load(), 6
    shares = shares_of_guesses(corpus, longest)
    test = [*labels(corpus, "test")]
    within = [(s, p, label) for s, p, label in test if len(s) <= longest]
    ((_, most),) = Counter(label for *_, label in within).most_common(1)
    position = [*zip(by_position(corpus).tolist(), test, strict=True)]
    right = sum(guess == row[2] for guess, row in position if len(row[0]) <= longest)
    assert shares["majority or position"][0] == max(most, right) / len(within)
    lengths = sorted({len(s) for s, *_ in test if len(s) > longest})
    assert len(lengths) > 1

    def beyond(guessed) -> float:
        return float(
            np.mean(
                [
                    np.mean([g == row[2] for g, row in guessed if len(row[0]) == length])
                    for length in lengths
                ]
            )
        )

    constants = [[(label, row) for row in test] for label in {label for *_, label in test}]
    expected = max(map(beyond, [position, *constants]))
    np.testing.assert_allclose(shares["majority or position"][1], expected)
    assert shares["table of training strings"] >= shares["majority or position"]


def test_a_place_outside_a_source_has_no_word():
    asked = AskedLabels.of(TASKS["parity"].load().splits["test"])
    for places in (asked.places * 0 - 1, asked.lengths):
        assert (asked.words(places) == -1).all()


@pytest.mark.parametrize(
    "column",
    ["arithmetic"]
    + [
        pytest.param(column, marks=pytest.mark.long)
        for column in ("recall", "induction", "parity", "cycle", "copy", "reverse", "brackets")
    ],
)
def test_the_arena_has_what_the_program_prints(column):
    ablation = load(find("arena")).ablation
    guesses = runpy.run_path(str(PROGRAM))["guesses"]
    written = {kind: shares[column] for kind, shares in ablation.crossing.guesses.items()}
    assert written == guesses(ablation, column)
