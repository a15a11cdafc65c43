"""Tasks whose data are drawn by a seed: their own, or that of the run."""

from dataclasses import dataclass, replace
from typing import Self

from attnjax.config.constraints import NonNegativeInt
from attnjax.data.corpus import Task


@dataclass(frozen=True, kw_only=True)
class SeededTask(Task):
    """A task with random data; equal fields give equal data.

    Attributes:
        seed: the seed of the random generator; None: that of the run, so that each seed learns
            from, and is tested on, data of its own. Without a run that is 0.
    """

    seed: NonNegativeInt | None = None

    def of_seed(self, seed: int) -> Self:
        return self if self.seed is not None else replace(self, seed=seed)
