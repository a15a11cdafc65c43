"""The base of scores, aligns and pools: what a fused kernel may assume of a part."""

from abc import ABC
from typing import Any

from flax import linen as nn


class Fusible(nn.Module, ABC):
    """A part of an attention, which a fused kernel may compute instead of the part.

    A kernel computes pool(align(score)) = weighted_sum(softmax(factor dot product + bias)) only.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Let a subclass with a `__call__` of its own be computed by no kernel until it says so."""
        for name in ("is_fusible", "same_in_every_head", "in_words"):
            if name in vars(cls):  # asked of templates: Linen must not set the part up for it
                nn.nowrap(vars(cls)[name])
        super().__init_subclass__(**options)
        if "__call__" in vars(cls) and "is_fusible" not in vars(cls):
            cls.is_fusible = Fusible.is_fusible

    @nn.nowrap
    def is_fusible(self) -> bool:
        """Whether a kernel computes the same as the part.

        For a score: its logits are `as_dot_product`; for an align: its weights are softmax(factor
        logits); for a pool: its context is `weighted_sum`.
        """
        return False

    @nn.nowrap
    def same_in_every_head(self) -> bool:
        """Whether a fusible part is the same in every head: no parameters, no head number."""
        return False

    @nn.nowrap
    def in_words(self) -> str:
        """The name of the part, for messages."""
        return type(self).__name__
