"""Packed batches: several sentences in each row, so that there is hardly any padding."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.batch_plan import BatchPlan, Bucket, PackedBatch
from attnjax.data.batching import Batching
from attnjax.data.examples import Encoded, Examples, Rows
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError


class RowPatterns(NamedTuple):
    """Rows by the kinds of sentences in them; a kind is a pair of lengths of source and target."""

    kind: np.ndarray  # [N], of each example
    slots: np.ndarray  # [N], the kind of each sentence of all rows, one row after the other
    begins: np.ndarray  # [R + 1], the index in `slots` at which each row begins, and N


def row_patterns(lengths: np.ndarray, length: int) -> RowPatterns:
    """Pack all examples, of lengths [N, 2], in rows of at most `length` positions on either side.

    A row begins with the longest kind that is left; the kind that fills it best, leaving as much
    room on one side as on the other, is added until none fits. As many rows as possible are made
    alike, so that the time depends on the number of kinds and hardly on that of examples.

    Source: Johnson 1973 (first-fit decreasing), here in two dimensions.
    """
    # int64: the square of a length of 46,341 overflows int32
    numbers = lengths[:, 0].astype(np.int64) * (length + 1) + lengths[:, 1]
    present, kind, left = np.unique(numbers, return_inverse=True, return_counts=True)
    sizes = np.stack(np.divmod(present, length + 1), 1).astype(np.int64)
    order = np.lexsort((sizes.min(1), sizes.max(1)))[::-1]
    sizes, left = sizes[order], left[order]
    rank = order.argsort()
    rows, copies = [], []
    while len(going := np.flatnonzero(left)):
        row = _fill_row(sizes[going], left[going], length)
        used, uses = np.unique(going[row], return_counts=True)
        count = int((left[used] // uses).min())
        left[used] -= count * uses
        rows.append(going[row])
        copies.append(count)
    slots = np.concatenate([np.tile(row, count) for row, count in zip(rows, copies, strict=True)])
    counts = np.repeat([len(row) for row in rows], copies)
    dtype = np.min_scalar_type(len(sizes))
    begins = np.concatenate([[0], np.cumsum(counts)])
    return RowPatterns(rank[kind].astype(dtype), slots.astype(dtype), begins)


def _fill_row(sizes: np.ndarray, left: np.ndarray, length: int) -> np.ndarray:
    """Return the indices of the example kinds that fill a row, starting with kind 0.

    sizes [M, 2]; left [M]: the unused examples of each kind.
    """
    row, room, left = [0], length - sizes[0], left.copy()
    left[0] -= 1
    while True:
        after = room - sizes
        fits = (after.min(1) >= 0) & (left > 0)
        if not fits.any():
            return np.array(row)
        # what stays empty on the narrower side, and the difference of both sides
        cost = np.where(fits, after.max(1) + abs(after[:, 0] - after[:, 1]), np.inf)
        best = int(cost.argmin())
        row.append(best)
        left[best] -= 1
        room = after[best]


def packed_side(
    side: Rows, examples: np.ndarray, rows: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Lay out one side of examples in rows: ids, then PAD; and each position's sentence number.

    `examples` [M] are indices, row by row, `rows` [M] the row of each; both results have `shape`.
    """
    begins = side.starts[examples]
    lengths = side.stops[examples] - begins
    ends = np.cumsum(lengths)
    first = np.searchsorted(rows, np.arange(shape[0] + 1))  # the first example of each row
    before = np.concatenate([[0], ends])
    number = np.arange(len(examples)) - first[rows]
    # from an index into all examples' symbols to the position in the rows, and in the ids
    in_row = rows * shape[1] - before[first[rows]]
    which = np.repeat(np.arange(len(examples)), lengths)
    index = np.arange(len(which))
    position = index + in_row[which]
    ids = np.full(shape[0] * shape[1], PAD, np.int32)
    ids[position] = side.values[index + (begins - before[:-1])[which]]
    sentence = np.repeat(np.diff(first), shape[1]).astype(np.int32)
    sentence[position] = number[which]
    return ids.reshape(shape), sentence.reshape(shape)


@dataclass(frozen=True)
class PackedPlan(BatchPlan):
    """The packed batches of a training run. Every example occurs once an epoch.

    The lengths that share a row are the same in every epoch; which examples have these lengths, and
    the order of the rows, depend on epoch and seed. All examples are in one bucket.
    """

    patterns: RowPatterns
    _last: dict[int, tuple[int, tuple[np.ndarray, np.ndarray]]] = field(
        default_factory=dict, init=False
    )

    @classmethod
    def of(cls, examples: Examples, rows: int, length: int) -> "PackedPlan":
        """Pack examples into batches of `rows` rows, of `length` positions on either side."""
        patterns = row_patterns(examples.lengths, length)
        indices = np.arange(len(examples), dtype=np.int32)
        batches = ceil((len(patterns.begins) - 1) / rows)
        return cls((Bucket(examples, indices, batches, (rows, length, length)),), patterns)

    def like(self, others: Sequence[Examples]) -> list[BatchPlan]:
        """Plan other examples as `BatchPlan.like`; rows are packed anew, into as many batches."""
        rows, length, _ = self.buckets[0].shape
        made: list[BatchPlan] = [self.of(examples, rows, length) for examples in others]
        if len(counts := {plan.per_epoch for plan in made}) > 1:
            raise UserError(
                "the seeds' data are packed into different numbers of batches, "
                f"{min(counts)} to {max(counts)}: train the seeds one by one (--together 1), or "
                "give all of them the same data (task.seed 0)"
            )
        return made

    def batch(self, step: int, seed: int) -> PackedBatch:
        epoch, index = divmod(step, self.per_epoch)
        order, examples = self._epoch(seed, epoch)
        first, last = (number * len(order) // self.per_epoch for number in (index, index + 1))
        chosen = order[first:last]
        begins = self.patterns.begins
        counts = begins[chosen + 1] - begins[chosen]
        rows = np.repeat(np.arange(len(chosen)), counts)
        slots = np.arange(len(rows)) + np.repeat(
            begins[chosen] - np.cumsum(counts) + counts, counts
        )
        bucket, chosen = self.buckets[0], examples[slots]
        shape = bucket.shape[:2]
        source, source_sentence = packed_side(bucket.examples.source, chosen, rows, shape)
        target, target_sentence = packed_side(bucket.examples.target, chosen, rows, shape)
        return PackedBatch(source, target, source_sentence, target_sentence)

    def _epoch(self, seed: int, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Return an epoch's order of rows and example of each slot; cache a seed's last epoch."""
        last, drawn = self._last.get(seed, (None, None))
        if drawn is None or last != epoch:
            drawn = self._drawn(seed, epoch)
            self._last[seed] = epoch, drawn
        return drawn

    def _drawn(self, seed: int, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        draw, patterns = np.random.default_rng((seed, epoch)), self.patterns
        order = draw.permutation(len(patterns.begins) - 1)
        examples = draw.permutation(self.buckets[0].indices)
        # sort both by kind: the shuffled examples of a kind go into its slots
        by_kind = examples[np.argsort(patterns.kind[examples], kind="stable")]
        filled = np.empty_like(by_kind)
        filled[np.argsort(patterns.slots, kind="stable")] = by_kind
        return order, filled


@dataclass(frozen=True, kw_only=True)
class Packed(Batching):
    """Several sentences in each row of a batch, each of which the model reads alone.

    A batch of a training has max_tokens / length rows, of one shape. Losses and gradients are those
    of the same sentences in rows of their own. Validation and evaluation read one sentence a row,
    in at most `shapes` shapes.

    Attributes:
        length: the positions of a row on either side, at least those of the longest sentence.
    """

    length: PositiveInt = 128

    def check(self, examples: Sequence[Encoded], where: str = "") -> np.ndarray:
        """Check as `Batching.check`, and that examples fit into rows."""
        if self.batch_size is not None:
            raise UserError(
                "packed batches hold as many examples as fit: wanted batching.batch_size none; got "
                f"{self.batch_size}"
            )
        least = self.batch_size_multiple * self.length
        if self.max_tokens < least:
            raise UserError(
                f"batching.max_tokens must be at least {least:,}, {self.batch_size_multiple} rows "
                f"(batching.batch_size_multiple) of batching.length={self.length}; got "
                f"{self.max_tokens:,}"
            )
        lengths = super().check(examples, where)
        worst = int(lengths.max(1).argmax())
        source, target = lengths[worst].tolist()
        if max(source, target) > self.length:
            raise UserError(
                f"example {worst + 1}{where} has {source} source and {target} target symbols "
                f"(END counted), more than a row of batching.length={self.length}"
            )
        one = Examples.of(examples[:1])
        if not one.source.are_ids:
            raise UserError("packed batches hold words; the task's sources are arrays of numbers")
        if one.ask_at_places:
            raise UserError(
                "packed batches hold words; the task's targets are labels at places of a source"
            )
        return lengths

    def plan(self, examples: Sequence[Encoded]) -> PackedPlan:
        self.check(examples)
        return PackedPlan.of(Examples.of(examples), self.batch_size_of(self.length), self.length)

    def unpacked(self) -> Batching:
        return Batching(
            max_tokens=self.max_tokens,
            shapes=self.shapes,
            batch_size_multiple=self.batch_size_multiple,
        )
