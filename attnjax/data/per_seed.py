"""A data set for each seed: the only example of a run is a whole data set."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.batch_plan import Batch, BatchPlan, Bucket
from attnjax.data.batching import Batching
from attnjax.data.examples import Encoded, Examples
from attnjax.errors import UserError


@dataclass(frozen=True)
class DatasetPerSeedPlan(BatchPlan):
    """Batches of one example each: every step of a run takes the example of its seed."""

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
    """The run of seed n learns from, and is tested on, example n alone.

    Results on a small data set vary mostly with the data: runs that shared one would agree, and
    their interval would be too narrow. All examples must have one length. The validation loss is a
    mean over all examples.

    Attributes:
        epoch: the number of steps, all on the same example, between validations.
    """

    epoch: PositiveInt = 100

    def plan(self, examples: Sequence[Encoded]) -> BatchPlan:
        examples = Examples.of(examples)
        buckets = [
            Bucket(examples, np.array([number]), 1, (self.batch_size_multiple, *lengths))
            for number, lengths in enumerate(self.check(examples).tolist())
        ]
        return DatasetPerSeedPlan(tuple(buckets), self.epoch)

    def examples_of_seed(self, examples: Sequence[Encoded], seed: int) -> Sequence[Encoded]:
        _check(seed, len(examples))
        return [examples[seed]]


def _check(seed: int, count: int) -> None:
    if seed >= count:
        raise UserError(
            f"every seed needs an example of its own; seed {seed} needs {seed + 1} examples, and "
            f"the split has {count}"
        )
