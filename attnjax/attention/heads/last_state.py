"""No attention: the same vector, the encoder's last state, for every query."""

from typing import Literal

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import AttentionBase
from attnjax.attention.mask import MaskLike, as_mask
from attnjax.attention.masked import zero_hidden
from attnjax.attention.pool import weighted_sum
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Contexts, Keys, Queries, Values
from attnjax.nn.lift import sow


class LastState(AttentionBase):
    """The same context for every query: the last state of the encoder.

        readers = "forward"    context[t] = value[S]
        readers = "both"       context[t] = [value[S, :V/2]; value[1, V/2:]]

    S and 1 are the last and the first position that the mask allows. A backward reader, whose
    states are the second half of the values, ends at position 1; at position S it has read the end
    symbol alone, so its half of value[S] is the same for every text.

    Sown weights are 1 at S, or 1/2 at S and 1/2 at 1. A row that may attend to nothing gives the
    context 0.

    Source: Cho et al. 2014, section 2.2 (the summary c); Bahdanau et al. 2015, appendix A.2.2,
    where a fixed c_i gives RNNencdec.
    """

    packs = True

    readers: Literal["forward", "both"] = "forward"

    def prepare(self, key: Keys, value: Values) -> jax.Array:
        return value

    @nn.compact
    def attend(
        self,
        query: Queries,
        memory: jax.Array,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool | None = None,
    ) -> Contexts:
        mask, shape = as_mask(mask, query), (*query.shape[:-1], memory.shape[-2])
        memory = zero_hidden(mask, memory)
        allowed = jnp.broadcast_to(mask.dense(positions.filled(query, memory)), shape)
        later = jnp.flip(jnp.cumsum(jnp.flip(allowed, -1), -1), -1)
        last = (allowed & (later == 1)).astype(memory.dtype)
        if self.readers == "forward":
            sow(self, "attention", "weights", last)
            return weighted_sum(last, memory)
        first = (allowed & (jnp.cumsum(allowed, -1) == 1)).astype(memory.dtype)
        sow(self, "attention", "weights", (last + first) / 2)
        forward, backward = jnp.split(memory, 2, -1)
        halves = weighted_sum(last, forward), weighted_sum(first, backward)
        return jnp.concatenate(halves, -1)
