"""No attention: the one vector that a fixed-size encoding has for every query."""

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attend import Mechanism, pool, position_of
from attnjax.attention.mask import Mask


class FixedVector(Mechanism):
    """context[t] = value[S], the last value that the mask allows, whatever is asked.

    It takes attention's place where a text is to be one vector; its weights, 1 at S, are sown like
    any other's. A row that may attend to nothing gives the context 0.

    Source: Cho et al. 2014, section 2.2 (the summary c); Bahdanau et al. 2015, appendix A.2.2, fix
    c_i so to get RNNencdec.
    """

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
        weights = (allowed & (later == 1)).astype(memory.dtype)
        self.sow("attention", "weights", weights)
        return pool(weights, memory)
