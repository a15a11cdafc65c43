"""No attention: the one vector that a fixed-size encoding has for every query."""

from typing import Literal

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import AttentionBase, pool, position_of
from attnjax.attention.mask import Mask


class FixedVector(AttentionBase):
    """The same context for every query: the last state of whoever read the text.

        readers = "forward"    context[t] = value[S]
        readers = "both"       context[t] = [value[S, :V/2]; value[1, V/2:]]

    S and 1 are the last and the first place that the mask allows. A backward reader ends at place
    1; at place S it has read the end alone, and its half of value[S] is the same for every text.

    The weights are sown like any other's: 1 at S, or 1/2 at S and 1/2 at 1. A row that may attend
    to nothing gives the context 0.

    Attributes:
        readers: whose states the values are; of both, those of the forward one are the first half.

    Source: Cho et al. 2014, section 2.2 (the summary c); Bahdanau et al. 2015, appendix A.2.2, fix
    c_i so to get RNNencdec.
    """

    readers: Literal["forward", "both"] = "forward"

    def prepare(self, key: jax.Array, value: jax.Array) -> jax.Array:
        """Keep the values."""
        del key
        return value

    @nn.compact
    def attend(
        self,
        query: jax.Array,
        memory: jax.Array,
        mask: Mask | None = None,
        *,
        query_position: jax.Array | None = None,
        key_position: jax.Array | None = None,
        deterministic: bool,
    ) -> jax.Array:
        """Queries [..., T, any], values [..., S, V] -> [..., T, V]."""
        del deterministic
        shape = (*query.shape[:-1], memory.shape[-2])
        allowed = jnp.ones(shape, bool)
        if mask is not None:
            asked = position_of(query) if query_position is None else query_position
            keys = position_of(memory) if key_position is None else key_position
            allowed = jnp.broadcast_to(mask.dense(asked, keys), shape)
        later = jnp.flip(jnp.cumsum(jnp.flip(allowed, -1), -1), -1)
        last = (allowed & (later == 1)).astype(memory.dtype)
        if self.readers == "forward":
            self.sow("attention", "weights", last)
            return pool(last, memory)
        first = (allowed & (jnp.cumsum(allowed, -1) == 1)).astype(memory.dtype)
        self.sow("attention", "weights", (last + first) / 2)
        forward, backward = jnp.split(memory, 2, -1)
        return jnp.concatenate([pool(last, forward), pool(first, backward)], -1)
