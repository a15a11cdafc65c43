"""The adding problem: an independent reading of each sequence, moments, what the splits share."""

import numpy as np
import pytest

from attnjax.data.generated.adding_problem import AddingProblem
from attnjax.errors import UserError


def arrays(task: AddingProblem, split: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """The sequences [N, S, 2] and the targets [N]."""
    examples = task.load().splits[split]
    return np.stack([e.source for e in examples]), np.stack([e.target for e in examples])[:, 0]


def task(operation: str, **more) -> AddingProblem:
    return AddingProblem(operation=operation, train=2_000, valid=5, test=7, **more)


def read(row: np.ndarray) -> tuple[int, list[int]]:
    """The length of a sequence, and its marked places."""
    ends = [step for step, (_, mark) in enumerate(row) if mark == -1]
    assert len(ends) == 2
    assert ends[0] == 0
    return ends[1] + 1, [step for step, (_, mark) in enumerate(row) if mark == 1]


@pytest.mark.parametrize("operation, length", [("add", 24), ("multiply", 24), ("multiply", 55)])
def test_every_sequence_has_two_marks_and_their_answer(operation, length):
    sources, answers = arrays(task(operation, length=length))
    assert (sources.dtype, answers.dtype) == (np.float32, np.float32)
    rows = int(np.ceil(1.1 * length))
    assert sources.shape == (2_000, rows, 2)
    lengths, places = zip(*map(read, sources), strict=True)
    assert {*lengths} == {*range(length, rows)}
    early = set()
    for row, steps, marked, answer in zip(sources, lengths, places, answers, strict=True):
        assert not row[steps:].any()
        assert len(marked) == 2
        assert 1 <= marked[0] <= 9
        assert marked[1] < steps // 2 - 1
        one, other = (float(row[step, 0]) for step in marked)
        wanted = 0.5 + (one + other) / 4 if operation == "add" else one * other
        assert answer == pytest.approx(wanted, abs=1e-6)
        early |= {*marked}
    assert early == {*range(1, max(lengths) // 2 - 1)}


def test_numbers_are_drawn_from_the_papers_intervals():
    for operation, low, mean in (("add", -1, 0.5), ("multiply", 0, 0.25)):
        sources, answers = arrays(task(operation))
        quantiles = np.quantile(sources[:, :50, 0], [0, 0.25, 0.5, 0.75, 1])
        assert quantiles == pytest.approx(np.linspace(low, 1, 5), abs=0.01)
        assert answers.mean() == pytest.approx(mean, abs=0.02)
        assert answers.min() >= 0
        assert answers.max() <= 1


def test_splits_are_drawn_independently_by_the_seed():
    small, more = task("add"), AddingProblem(train=60, valid=5, test=7)
    for split in ("valid", "test"):
        np.testing.assert_array_equal(arrays(small, split)[0], arrays(more, split)[0])
    assert (arrays(small, "valid")[0] != arrays(small, "test")[0][:5]).any()
    seeded = more.of_seed(3)
    assert seeded.seed == 3
    assert seeded.of_seed(4) == seeded
    assert len({one.load().digest("train") for one in (small, more, seeded)}) == 3


def test_fields_out_of_range(load):
    with pytest.raises(UserError, match="task.length: wanted .*; got .*23"):
        load(AddingProblem(length=23))
    with pytest.raises(UserError, match="task.length=1000 and the largest of task.train"):
        AddingProblem(length=1_000, train=200_000).load()
