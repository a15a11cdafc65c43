"""What a part of an attention declares: what checks may expect of it, and fused kernels assume."""

from abc import ABC
from typing import Any, ClassVar

from flax import linen as nn


class Expectations:
    """A score, an align, a pool, a mask or an attention: what `attnjax.lab.checks` expects of it.

    A class that differs sets the attribute in its body.
    """

    may_be_zero: ClassVar[bool] = False
    """Whether the context of a row with allowed keys may be 0, as of a kernel, a sigmoid, a softmax
    with a sink, or a ReLU after the sum."""

    uses_absolute_positions: ClassVar[bool] = False
    """Whether the result changes if all positions are moved by the same number, as of a learned
    weight for each position."""


class Fusible(Expectations, nn.Module, ABC):
    """A part of an attention, which a fused kernel may compute instead of the part.

    A kernel computes pool(align(score)) = weighted_sum(softmax(factor (dot product + bias))) only,
    where logits may have a cap and the softmax a sink.

    A class declares what a kernel may assume in its first line, `class Dot(Score, fusible=True)`;
    if it depends on fields, by the methods `is_fusible` and `same_in_every_head`.
    """

    _fusible: ClassVar[bool] = False
    _same_in_every_head: ClassVar[bool] = False

    def __init_subclass__(
        cls, *, fusible: bool = False, same_in_every_head: bool = False, **options: Any
    ) -> None:
        """Let a subclass with a `__call__` of its own be computed by no kernel until it says so."""
        for name in ("is_fusible", "same_in_every_head", "in_words"):
            if name in vars(cls):  # asked of templates: Linen must not set the part up for it
                nn.nowrap(vars(cls)[name])
        super().__init_subclass__(**options)
        has_call = "__call__" in vars(cls)
        if has_call and "is_fusible" not in vars(cls):
            cls.is_fusible = Fusible.is_fusible
        cls._fusible = fusible or (cls._fusible and not has_call)
        cls._same_in_every_head = same_in_every_head or cls._same_in_every_head

    @nn.nowrap
    def is_fusible(self) -> bool:
        """Return whether a kernel computes the same as the part.

        For a score: its logits are `as_dot_product`; for an align: its weights are softmax(factor
        logits) with the sink `sink_logit`; for a pool: its context is `weighted_sum`.
        """
        return self._fusible

    @nn.nowrap
    def same_in_every_head(self) -> bool:
        """Return whether the part is the same in every head: no parameters, no head number."""
        return self._same_in_every_head

    @nn.nowrap
    def in_words(self) -> str:
        """Return the name of the part, for messages."""
        return type(self).__name__
