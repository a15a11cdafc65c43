"""Heads that see the nearest words alone: ALiBi as a hard bound."""

from dataclasses import field

import jax.numpy as jnp

from attnjax.attention.align import Align, AlignContext, Softmax
from attnjax.attention.position import distance
from attnjax.attention.shapes import Allowed, Logits, Weights
from attnjax.config.constraints import NonNegativeInt
from attnjax.nn.axes import head_number


class HardAlibi(Align):
    """An align of which head h = 0, 1, ... gets only the h + 1 keys nearest to each query.

    Distances are counted on both sides; under `Causal` head h sees the query's own word and the h
    before it. The last `unbounded` heads see all keys. Outside `MultiHead` h = 0.

    Source: Jelassi et al. 2024, section 3.1 (Hard-ALiBi).
    """

    align: Align = field(default_factory=Softmax)
    unbounded: NonNegativeInt = 0

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        head, heads = head_number()
        near = (abs(distance(context.positions)) <= head) | (head >= heads - self.unbounded)
        near = jnp.broadcast_to(near, logits.shape)
        return self.align(logits, near if mask is None else near & mask, context)
