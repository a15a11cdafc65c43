"""Which sentences share a packed row: first-fit decreasing over a histogram of lengths."""

from typing import NamedTuple

import numpy as np


class RowPatterns(NamedTuple):
    """Rows by the kinds of sentences in them; a kind is a pair of lengths of source and target."""

    kind: np.ndarray  # [N], of each example
    slots: np.ndarray  # [N], the kind of each sentence of all rows, one row behind the other
    begins: np.ndarray  # [R + 1], the index in `slots` at which each row begins, and N


def row_patterns(lengths: np.ndarray, length: int) -> RowPatterns:
    """Rows of at most `length` places on either side that hold every example [N, 2] once.

    A row begins with the longest kind that is left, and takes the kind that fills it best, with as
    much room on both sides, until none fits. As many rows as possible are made alike, so that the
    time depends on the number of kinds and hardly on that of examples.

    Source: Johnson 1973 (first-fit decreasing), here in two dimensions.
    """
    numbers = lengths[:, 0].astype(np.int32) * np.int32(length + 1) + lengths[:, 1]
    present, kind, left = np.unique(numbers, return_inverse=True, return_counts=True)
    sizes = np.stack(np.divmod(present, length + 1), 1).astype(np.int64)
    order = np.lexsort((sizes.min(1), sizes.max(1)))[::-1]
    sizes, left = sizes[order], left[order]
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    rows, copies = [], []
    while len(going := np.flatnonzero(left)):
        row = _filled(sizes[going], left[going], length)
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


def _filled(sizes: np.ndarray, left: np.ndarray, length: int) -> np.ndarray:
    """The kinds in a row, the first of which is kind 0; [M, 2] sizes and [M] numbers left."""
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
