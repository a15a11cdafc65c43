"""The batches of a training run, each a pure function of its step and the seed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from attnjax.data.examples import Examples
from attnjax.errors import UserError


class Batch(NamedTuple):
    """The examples of one training step, padded to one shape: ids with PAD, floats with NaN.

    A batch with fewer examples than its shape has rows is filled up with rows of padding.
    """

    source: np.ndarray  # int32 [B, S], rows that end with END; or floats [B, S, ...]
    target: np.ndarray  # likewise [B, T] or [B, T, ...]; of `LabeledPlaces` int32 [B, K, 2]


class Packing(NamedTuple):
    """The sentence number of each position of packed rows.

    Sentences are numbered in each row from 0, in their order; the padding after them has the next
    number. The arrays are NumPy's on the host, and JAX's in a model.
    """

    source: Any  # integers [B, S]
    target: Any  # [B, T]


class PackedBatch(NamedTuple):
    """The examples of one training step, several in a row, each of which the model reads alone."""

    source: np.ndarray  # int32 [B, S], the sources of a row one after the other, then PAD
    target: np.ndarray  # int32 [B, T], their targets in the same order, then PAD
    source_sentence: Any  # see `Packing`
    target_sentence: Any

    @property
    def packing(self) -> Packing:
        """The sentences of the rows."""
        return Packing(self.source_sentence, self.target_sentence)


@dataclass(frozen=True)
class Bucket:
    """Examples of similar length, divided evenly among batches of one shape."""

    examples: Examples  # of this bucket and of others
    indices: np.ndarray  # [n], those of this bucket
    batches: int  # their number
    shape: tuple[int, int, int]  # (B, S, T) of each batch

    @property
    def lengths(self) -> np.ndarray:
        """[n, 2], of source and target."""
        return self.examples.lengths[self.indices]

    def batch(self, index: int, order: np.ndarray) -> tuple[np.ndarray, Batch]:
        """Return a batch of a permutation [n], and its examples' indices, -1 for filler rows."""
        first, last = (number * len(order) // self.batches for number in (index, index + 1))
        chosen = self.indices[order[first:last]]
        rows, source, target = self.shape
        indices = np.full(rows, -1)
        indices[: len(chosen)] = chosen
        return indices, Batch(
            self.examples.source.padded(chosen, (rows, source)),
            self.examples.target.padded(chosen, (rows, target)),
        )


@lru_cache(maxsize=64)
def permutation(length: int, *entropy: int) -> np.ndarray:
    """Return a read-only permutation of 0, ..., length - 1, the same in every step of an epoch."""
    order = np.random.default_rng(entropy).permutation(length)
    order.flags.writeable = False
    return order


@dataclass(frozen=True)
class BatchPlan:
    """The batches of a training run. Every example occurs once an epoch, in one of the buckets.

    The order of shapes depends on the epoch alone, so that batches of several seeds can be stacked;
    the examples within a batch depend on the seed, too.
    """

    buckets: tuple[Bucket, ...]

    @property
    def per_epoch(self) -> int:
        """The number of batches of an epoch, one pass over the examples."""
        return sum(bucket.batches for bucket in self.buckets)

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """(B, S, T) of the batches, each shape once."""
        return [bucket.shape for bucket in self.buckets]

    @property
    def count(self) -> int:
        """The number of examples of an epoch."""
        return sum(len(bucket.indices) for bucket in self.buckets)

    @property
    def padding(self) -> float:
        """The share of padding among all positions of an epoch, source and target together."""
        positions = sum(b.batches * b.shape[0] * sum(b.shape[1:]) for b in self.buckets)
        symbols = sum(int(b.lengths.sum()) for b in self.buckets)
        return 1 - symbols / positions

    def like(self, others: Sequence[Examples]) -> "list[BatchPlan]":
        """Plan equally many other examples each, so that the batches of all plans can be stacked.

        At each step all of them have the same shape. The number of batches, and of examples in
        each, is this plan's; sources and targets are padded to the longest of all.
        """
        orders = [by_length(examples.lengths) for examples in others]
        for order in orders:
            if len(order) != self.count:
                raise UserError(
                    "runs of several seeds must have equally many examples of a split; got "
                    f"{self.count:,} and {len(order):,}"
                )
        alike, stop = [], self.count
        for bucket in self.buckets:
            begin = stop - len(bucket.indices)
            equal = [
                replace(bucket, examples=examples, indices=order[begin:stop])
                for examples, order in zip(others, orders, strict=True)
            ]
            longest = np.max([bucket.shape[1:], *(other.lengths.max(0) for other in equal)], axis=0)
            shape = (bucket.shape[0], *longest.tolist())
            alike.append([replace(other, shape=shape) for other in equal])
            stop = begin
        return [replace(self, buckets=buckets) for buckets in zip(*alike, strict=True)]

    def in_order(self) -> Iterator[tuple[np.ndarray, Batch]]:
        """Yield batches of all examples, short ones first, with their indices (-1: filler)."""
        for bucket in reversed(self.buckets):
            order = np.arange(len(bucket.indices))
            for index in range(bucket.batches):
                yield bucket.batch(index, order)

    def batch(self, step: int, seed: int) -> Batch | PackedBatch:
        """Return the batch of a step, counted from 0."""
        epoch, position = divmod(step, self.per_epoch)
        number = permutation(self.per_epoch, epoch)[position]
        ends = np.cumsum([bucket.batches for bucket in self.buckets])
        which = int(np.searchsorted(ends, number, side="right"))
        bucket = self.buckets[which]
        index = int(number - ends[which] + bucket.batches)
        order = permutation(len(bucket.indices), seed, epoch, which)
        return bucket.batch(index, order)[1]


def by_length(lengths: np.ndarray) -> np.ndarray:
    """Return the order of examples by the longer of their lengths [N, 2]."""
    # ties by both lengths: neighbors that are alike in both need the least padding in a batch
    return np.lexsort((lengths[:, 1], lengths[:, 0], lengths.max(1)))
