"""Aligns around an align: heads of different reach, and heads that meet before and after it.

`MultiHead` maps its heads over the named axis `HEADS`; an align reads those of all heads from it.
"""

from dataclasses import field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax

from attnjax.attention.align.base import Align, AlignContext, Normalize, Softmax
from attnjax.attention.position import distance
from attnjax.attention.shapes import Allowed, Logits, Weights
from attnjax.config.constraints import NonNegativeInt
from attnjax.config.walk import walk
from attnjax.errors import UserError
from attnjax.nn.axes import HEADS, head_number, inside
from attnjax.nn.dtypes import widen
from attnjax.nn.parameter_kinds import Kind, declare


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


declare(Kind.UNDECAYED, "logits_row", "weights_row")  # at 0 no head would be heard


class TalkingHeads(Align):
    """Linear maps over the H heads, before and after an align.

        logits'_g[t, s] = sum over h of P_gh logits_h[t, s],   weights_g likewise by Q

    P and Q, [H, H], start as the identity: each head alone. A head holds its own rows. Rows of
    weights need not sum to 1, and weights may be negative. Outside `MultiHead` there is one head.

    Raises:
        UserError: the align is `Normalize`: a mixture of kernels may be negative; or the call is
            within `jax.shard_map` with its default check.

    Source: Shazeer et al. 2020, section 4.
    """

    may_be_zero = True
    sums_to_one = False

    align: Align = field(default_factory=Softmax)

    def setup(self) -> None:
        if any(isinstance(part, Normalize) for _, part in walk(self)):
            raise UserError(
                "TalkingHeads mixes logits, and a kernel is none: it wants an align such as "
                "Softmax; got Normalize"
            )

    @nn.compact
    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        own = partial(_own_row, *head_number())
        before = self.param("logits_row", own)
        after = self.param("weights_row", own)
        return _mixed(after, self.align(_mixed(before, logits), mask, context))


def _own_row(head: Any, heads: int, key: jax.Array) -> jax.Array:
    """Return this head's row of the identity, [H]."""
    return jnp.eye(heads)[head]


def _mixed(row: jax.Array, x: jax.Array) -> jax.Array:
    """Return this head's mixture of an array of all heads."""
    of_all = _of_all_heads(x) if inside(HEADS) else x[None]
    return jnp.einsum("h,h...->...", row, widen(of_all)).astype(x.dtype)


def _of_all_heads(x: jax.Array) -> jax.Array:
    """Return the arrays of all heads, [H, ...]."""
    try:
        return lax.all_gather(x, HEADS)
    except AssertionError as error:  # JAX names no reason
        raise UserError(
            "TalkingHeads reads all heads, over an axis of jax.vmap, which JAX refuses within "
            "jax.shard_map by its default: give jax.shard_map(..., check_vma=False)"
        ) from error
