"""The adding problem: the sum, or the product, of the two numbers of a sequence that are marked."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from attnjax.data.corpus import Corpus, ExampleCount
from attnjax.data.examples import Examples, Rows
from attnjax.data.generated.seeded import SeededTask, check_size
from attnjax.data.vocabularies import Vocabularies

SPLITS = ("train", "valid", "test")

FIRST = 10
"""One of the marked places is among the first ten, the first one excepted."""


@dataclass(frozen=True, kw_only=True)
class AddingProblem(SeededTask):
    """Add, or multiply, the two numbers of a long sequence that stand at marked places.

        add        x_i ~ U(-1, 1),   y = 1/2 + (x_a + x_b) / 4
        multiply   x_i ~ U(0, 1),    y = x_a x_b

    The source is float32 [S, 2]: x_i and a mark, which is 1 at a and b, -1 at both ends of the
    sequence and 0 elsewhere. With T the `length`, a sequence has T to 1.1 T - 1 steps, drawn
    uniformly; a is one of the steps 1 to 9, b another one before its middle. After its end stand
    zeros, so that every source has S = ceil(1.1 T) rows: they are no padding, and are read. The
    target is y, [1, 1]. The splits are drawn independently; nothing is decoded.

    Attributes:
        operation: what is asked for.
        length: T.
        train: the number of training examples; valid and test likewise.

    Source: Hochreiter & Schmidhuber 1997, sections 5.4 and 5.5, as in
        github.com/craffel/lstm_problems.
    """

    operation: Literal["add", "multiply"] = "add"
    length: Annotated[int, Ge(2 * (FIRST + 2))] = 50
    train: ExampleCount = 10_000
    valid: ExampleCount = 1_000
    test: ExampleCount = 1_000

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        check_size(
            2 * self.rows * max(self.train, self.valid, self.test),
            f"task.length={self.length} and the largest of task.train, valid and test",
        )
        splits = {split: self._examples(number) for number, split in enumerate(SPLITS)}
        return Corpus(vocabularies=Vocabularies(None, None), splits=splits)

    @property
    def rows(self) -> int:
        """S, of every source."""
        return -(-11 * self.length // 10)

    def _examples(self, number: int) -> Examples:
        """Draw the examples of a split, given by its number."""
        generator = np.random.default_rng([self.seed or 0, number])
        count, single = getattr(self, SPLITS[number]), np.float32
        steps = generator.integers(self.length, self.rows, count)
        first = generator.integers(1, FIRST, count)
        second = generator.integers(1, steps // 2 - 2, count)
        second += second >= first  # any place but the first one

        sources = np.zeros((count, self.rows, 2), single)
        drawn = generator.random((count, self.rows), single)
        drawn = 2 * drawn - 1 if self.operation == "add" else drawn
        sources[..., 0] = np.where(np.arange(self.rows) < steps[:, None], drawn, 0)
        every = np.arange(count)
        for place, mark in ((first, 1), (second, 1), (0, -1), (steps - 1, -1)):
            sources[every, place, 1] = mark
        one, other = sources[every, first, 0], sources[every, second, 0]
        asked = one * other if self.operation == "multiply" else 0.5 + (one + other) / 4
        return Examples(
            Rows.cut(sources.reshape(-1, 2), np.arange(count + 1) * self.rows),
            Rows.cut(asked.astype(single)[:, None], np.arange(count + 1)),
        )
