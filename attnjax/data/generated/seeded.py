"""Tasks whose data are drawn by a seed: their own, or that of the run."""

from dataclasses import dataclass, replace
from typing import Self

from attnjax.config.constraints import NonNegativeInt
from attnjax.data.corpus import Task
from attnjax.errors import UserError

MOST_NUMBERS = 2**28
"""The largest number of numbers that a task draws at once: 2 GiB of 64 bits each."""


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


def check_size(numbers: int, fields: str) -> None:
    """Refuse a task that draws more numbers than `MOST_NUMBERS`, before memory is asked for.

    `fields` are those that the number of numbers depends on, with their values.
    """
    if numbers > MOST_NUMBERS:
        raise UserError(
            f"a task draws at most {MOST_NUMBERS:,} numbers; {fields} would draw {numbers:,}"
        )
