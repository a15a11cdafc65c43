"""Self-attentive pooling: several weighted sums of the states of one text, without a query."""

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.align.base import softmax
from attnjax.attention.attention import AttentionBase, Memory
from attnjax.attention.mask import MaskLike, allowed_pairs, as_mask
from attnjax.attention.masked import zero_hidden
from attnjax.attention.pool import weighted_sum
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Contexts, Keys, Queries, Values
from attnjax.config.constraints import PositiveInt
from attnjax.nn.dtypes import widen
from attnjax.nn.lift import sow
from attnjax.nn.linear import Dense


def redundancy(weights: Float[Array, "*B R S"]) -> Float[Array, "*B"]:
    """Return the redundancy of the hops, ||A A^T - I||_F^2 of the weights A: [..., R, S] -> [...].

    0 where every hop looks at one word, and no two at the same.

    Source: Lin et al. 2017, eq. 8.
    """
    gram = jnp.einsum("...rs,...qs->...rq", weights, weights)
    identity = jnp.broadcast_to(jnp.eye(weights.shape[-2], dtype=gram.dtype), gram.shape)
    return ((gram - identity) ** 2).sum((-1, -2))


class SelfAttentive(AttentionBase):
    """R weighted sums of the states ("hops"), mapped to one vector: context = relu(W vec(A H) + b).

        A = softmax(W_2 tanh(W_1 H^T))

    H are the values [S, V], A the weights [R, S], R the hops; W_1 has `width` rows. The query gives
    the context's width and nothing else: every query has the same weights. The weights are sown
    with hops as heads, [..., R, T, S], and their `redundancy`, [..., T], to the collection
    "objective". A row that may attend to nothing has weights 0.

    Source: Lin et al. 2017, eq. 6 and 7, and the first layer of the network after them (section
        2.1); there the context is 3,000 wide, here as wide as the query.
    """

    packs = True
    may_be_zero = True

    hops: PositiveInt = 30
    width: PositiveInt = 350

    @nn.compact
    def prepare(self, key: Keys, value: Values) -> Memory:
        """Return the values and each hop's logits, [..., S, R], which depend on the keys alone."""
        hidden = jnp.tanh(Dense((self.width,), bias=False, name="hidden")(key))
        logits = Dense((self.hops,), bias=False, name="hops")(hidden)
        return Memory(widen(logits), value)

    @nn.compact
    def attend(
        self,
        query: Queries,
        memory: Memory,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool | None = None,
    ) -> Contexts:
        mask = as_mask(mask, query)
        memory = Memory(*(zero_hidden(mask, x) for x in (memory.key, memory.value)))
        (*leading, steps, width), length = query.shape, memory.value.shape[-2]
        shape = (*leading, self.hops, steps, length)
        logits = jnp.broadcast_to(jnp.swapaxes(memory.key, -1, -2)[..., None, :], shape)
        positions = positions.filled(query, memory.value).expand_heads()
        allowed = allowed_pairs(mask.expand_heads(), positions, shape)
        weights = softmax(logits, allowed)
        sow(self, "attention", "weights", weights)
        sow(self, "objective", "redundancy", redundancy(jnp.swapaxes(weights, -2, -3)))
        hops = weighted_sum(weights, memory.value[..., None, :, :])
        hops = jnp.swapaxes(hops, -2, -3).reshape(*leading, steps, self.hops * hops.shape[-1])
        return nn.relu(Dense((width,), name="out")(hops))
