"""Data of its own for every run, where an example is a whole data set."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.batching import Batch, Batching, BatchPlan
from attnjax.data.corpus import Encoded
from attnjax.errors import UserError


@dataclass(frozen=True)
class DatasetPerSeedPlan(BatchPlan):
    """A bucket an example; a run takes the one that has its seed's number at every step.

    Attributes:
        epoch: so many steps are called one.
    """

    epoch: int

    @property
    def per_epoch(self) -> int:
        return self.epoch

    def batch(self, step: int, seed: int) -> Batch:
        del step
        _check(seed, len(self.buckets))
        return self.buckets[seed].batch(0, np.arange(1))[1]


@dataclass(frozen=True, kw_only=True)
class DatasetPerSeed(Batching):
    """A run learns from, and is tested on, the one example that has its seed's number.

    What is learned from few points depends on them more than on all else: runs that shared them
    would agree, and say nothing of how sure a result is. Examples must be of one length. The
    validation loss is that on all examples.

    Attributes:
        epoch: after so many steps, all on the one example, a run is validated.
    """

    epoch: PositiveInt = 100

    def plan(self, examples: Sequence[Encoded]) -> BatchPlan:
        """Make each example a bucket.

        Raises:
            UserError: as `Batching.check`. The plan's `batch` raises it where there is no example
                for a seed.
        """
        buckets = [
            replace(bucket, indices=np.array([number]))
            for number, example in enumerate(examples)
            for bucket in Batching.plan(self, [example]).buckets
        ]
        return DatasetPerSeedPlan(tuple(buckets), self.epoch)

    def examples_of_seed(self, examples: Sequence[Encoded], seed: int) -> Sequence[Encoded]:
        """The one example.

        Raises:
            UserError: there is none for this seed.
        """
        _check(seed, len(examples))
        return [examples[seed]]


def _check(seed: int, count: int) -> None:
    if seed >= count:
        raise UserError(
            f"every seed wants an example of its own; seed {seed} is the {seed + 1}th, and the "
            f"split has {count}"
        )
