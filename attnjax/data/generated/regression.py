"""Regression: noisy points of a smooth function."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge

from attnjax.config.constraints import NonNegativeFloat, NonNegativeInt, PositiveInt
from attnjax.data.corpus import Corpus, ExampleCount, Task
from attnjax.data.examples import Encoded, Examples
from attnjax.data.vocabularies import Vocabularies

SPLITS = ("train", "valid", "test")

END = 5.0
"""Every coordinate lies in [0, END)."""


def function(x: np.ndarray) -> np.ndarray:
    """Return f(x) [...] of x [..., D], which is not negative.

        f(x) = sum over the D coordinates of (2 sin x_d + x_d^0.8) / sqrt(D)

    The division makes the variance of f, and so its ratio to the noise's, the same for every D.

    Source: d2l.ai 0.17 (Zhang et al.), section 10.2.1, with D = 1.
    """
    return (2 * np.sin(x) + x**0.8).sum(-1) / x.shape[-1] ** 0.5


@dataclass(frozen=True, kw_only=True)
class NoisyFunction(Task):
    """Predict y = f(x) + noise from known points; f is `function`, and nothing is decoded.

    An example is a whole data set. Its source holds the known points, its target the points to be
    predicted, both float32 [points, D+1]: the coordinates, then y. The targets of "train" are the
    known points themselves, those of "valid" new points with noise, those of "test" new points
    without noise, so that the test error is the distance from f. All x are drawn uniformly and
    sorted by their first coordinate.

    Attributes:
        train: the number of known points; valid and test likewise, of points to be predicted.
        sets: the number of independent data sets; each split has an example of each.
        dimensions: D.
        noise: the standard deviation of the noise, in units of y.
        seed: the seed of the random generator.
    """

    train: Annotated[ExampleCount, Ge(2)] = 50
    valid: ExampleCount = 50
    test: ExampleCount = 50
    sets: ExampleCount = 1
    dimensions: PositiveInt = 1
    noise: NonNegativeFloat = 0.5
    seed: NonNegativeInt = 0

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        splits = {
            split: Examples.of(
                Encoded(self._points("train", number), self._points(split, number))
                for number in range(self.sets)
            )
            for split in SPLITS
        }
        return Corpus(vocabularies=Vocabularies(None, None), splits=splits)

    def _points(self, split: str, number: int) -> np.ndarray:
        """Draw the points [n, D+1] of a split of a data set, whatever the number of sets."""
        count = getattr(self, split)
        generator = np.random.default_rng([self.seed, number, SPLITS.index(split)])
        x = generator.uniform(0, END, (count, self.dimensions))
        x = x[np.argsort(x[:, 0])]
        y = function(x)
        if split != "test":
            y = y + self.noise * generator.normal(size=count)
        return np.concatenate([x, y[:, None]], -1).astype(np.float32)
