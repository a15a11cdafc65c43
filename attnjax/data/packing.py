"""Packed rows: several sentences one behind the other, each of which a model reads alone."""

from typing import Any, NamedTuple

import numpy as np


class Packing(NamedTuple):
    """The sentences of packed rows.

    Sentences are numbered in each row from 0, and stand in this order; the padding behind them has
    the next number.

    Its arrays are NumPy's on the host, and JAX's in a model.

    Attributes:
        source: the number of the sentence of each place of the source, integers [B, S].
        target: the same of the target, [B, T].
    """

    source: Any
    target: Any


class PackedBatch(NamedTuple):
    """The examples of one training step, several in a row; see `attnjax.data.batch_plan.Batch`.

    Attributes:
        source: int32 [B, S], the sources of a row one behind the other, then PAD.
        target: int32 [B, T], their targets in the same order, then PAD.
        source_sentence: int32 [B, S], see `Packing`.
        target_sentence: int32 [B, T], see `Packing`.
    """

    source: np.ndarray
    target: np.ndarray
    source_sentence: Any
    target_sentence: Any

    @property
    def packing(self) -> Packing:
        """The sentences of the rows."""
        return Packing(self.source_sentence, self.target_sentence)
