"""Linear regressions, each with a few known points, to be solved from these points alone."""

from dataclasses import dataclass

import numpy as np

from attnjax.config.constraints import PositiveFloat, PositiveInt
from attnjax.data.corpus import Corpus, ExampleCount
from attnjax.data.examples import Examples, Rows
from attnjax.data.generated.seeded import SeededTask
from attnjax.data.vocabularies import Vocabularies

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, kw_only=True)
class InContextRegression(SeededTask):
    """Predict y = w . x at one point x, from the values of the same w at N known points.

        w ~ N(0, I),   each coordinate of each x ~ U(-width / 2, width / 2)

    Every example has a w of its own. Its source holds the known points, its target the point that
    is asked for, both float32 [points, D+1]: the coordinates, then y. There is no noise. The
    splits are drawn independently: more examples of one leave the others as they are. Nothing is
    decoded.

    Attributes:
        train: the number of training examples; valid and test likewise.
        points: N, the number of known points.
        dimensions: D.
        width: the length of the interval that coordinates are drawn from.

    Source: von Oswald et al. 2023, section 3; the interval [-1/2, 1/2] is that of their program
    (`src/data.py`, `input_range`).
    """

    train: ExampleCount = 10_000
    valid: ExampleCount = 1_000
    test: ExampleCount = 1_000
    points: PositiveInt = 10
    dimensions: PositiveInt = 10
    width: PositiveFloat = 1.0

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        splits = {split: self._examples(number) for number, split in enumerate(SPLITS)}
        return Corpus(vocabularies=Vocabularies(None, None), splits=splits)

    def _examples(self, number: int) -> Examples:
        """Draw the examples of a split, given by its number."""
        generator = np.random.default_rng([self.seed or 0, number])
        count, single = getattr(self, SPLITS[number]), np.float32
        weights = generator.standard_normal((count, self.dimensions, 1), single)
        points = np.empty((count, self.points + 1, self.dimensions + 1), single)
        shape = (count, self.points + 1, self.dimensions)
        points[..., :-1] = self.width * (generator.random(shape, single) - single(0.5))
        points[..., -1:] = points[..., :-1] @ weights
        return Examples(_rows(points[:, :-1]), _rows(points[:, -1:]))


def _rows(points: np.ndarray) -> Rows:
    """Return points [examples, n, D+1] as rows of n points."""
    count, length, width = points.shape
    offsets = np.arange(count + 1) * length
    return Rows.cut(np.ascontiguousarray(points).reshape(-1, width), offsets)
