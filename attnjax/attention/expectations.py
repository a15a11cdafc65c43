"""What may be expected of every part of an attention, unless its class says otherwise."""

from typing import ClassVar


class Expectations:
    """A score, an align, a pool, a mask or an attention: what `attnjax.checks` expects of it.

    A class that differs sets the attribute in its body.
    """

    may_be_zero: ClassVar[bool] = False
    """Whether the context of a row with allowed keys may be 0, as of a kernel, a sigmoid, a softmax
    with a sink, or a ReLU after the sum."""

    uses_absolute_positions: ClassVar[bool] = False
    """Whether the result changes if all positions are moved by the same number, as of a learned
    weight for each position."""
