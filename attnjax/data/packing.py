"""Packed rows: several sentences one behind the other, each of which a model reads alone."""

from typing import Any, NamedTuple

import numpy as np


class Packing(NamedTuple):
    """The number of the sentence of each place of packed rows.

    Sentences are numbered in each row from 0, and stand in this order; the padding behind them has
    the next number. The arrays are NumPy's on the host, and JAX's in a model.
    """

    source: Any  # integers [B, S]
    target: Any  # [B, T]


class PackedBatch(NamedTuple):
    """The examples of one training step, several in a row; see `attnjax.data.batch_plan.Batch`."""

    source: np.ndarray  # int32 [B, S], the sources of a row one behind the other, then PAD
    target: np.ndarray  # int32 [B, T], their targets in the same order, then PAD
    source_sentence: Any  # see `Packing`
    target_sentence: Any

    @property
    def packing(self) -> Packing:
        """The sentences of the rows."""
        return Packing(self.source_sentence, self.target_sentence)
