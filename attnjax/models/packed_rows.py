"""What the words of a row see, where a row may hold several sentences."""

from typing import NamedTuple

import jax

from attnjax.attention.mask import Mask, Padding, Segments
from attnjax.attention.position import Positions
from attnjax.data.packing import Packing
from attnjax.data.special_tokens import PAD
from attnjax.nn.packed_rows import positions_in


class RowMasks(NamedTuple):
    """The masks of an encoder and a decoder, and the positions of their words.

    Attributes:
        source: between the words of the source.
        target: between the words of the target, beside causality; None: nothing more.
        across: from the words of the target to those of the source.
        positions: of target and source in their own sentences; None means 0, 1, ...
    """

    source: Mask
    target: Mask | None
    across: Mask
    positions: Positions


def row_masks(source: jax.Array, packing: Packing | None) -> RowMasks:
    """The masks of sources [B, S]; with a packing every sentence sees itself alone."""
    present = Padding(source != PAD)
    if packing is None:
        return RowMasks(present, None, present, Positions())
    target, source = packing.target, packing.source
    return RowMasks(
        present & Segments(source, source),
        Segments(target, target),
        present & Segments(target, source),
        Positions(positions_in(target), positions_in(source)),
    )
