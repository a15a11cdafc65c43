"""The search of a classifier: one step, and its most probable symbol."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.data.symbols import END, PAD, START, UNKNOWN
from attnjax.decoding.search import Hypotheses, Search, Step


@dataclass(frozen=True, kw_only=True)
class Label(Search):
    """The most probable symbol that is none of PAD, START, END and UNKNOWN, and nothing after it.

    The probabilities of the labels are not renormalised for the four.
    """

    def __call__(
        self, step: Step, constants: Any, carry: Any, *, length: int, limit: jax.Array
    ) -> Hypotheses:
        logits, _ = step(constants, carry, jnp.full(limit.shape, START, jnp.int32))
        symbol = jax.lax.broadcasted_iota(jnp.int32, logits.shape, logits.ndim - 1)
        special = jnp.isin(symbol, jnp.asarray([PAD, START, END, UNKNOWN]))
        log_probability = jax.nn.log_softmax(logits.astype(jnp.float32))
        log_probability = jnp.where(special, -jnp.inf, log_probability)
        there = limit > 0
        label = jnp.where(there, log_probability.argmax(-1).astype(jnp.int32), PAD)
        tokens = jnp.full((*limit.shape, length), PAD, jnp.int32).at[:, 0].set(label)
        score = jnp.where(there, log_probability.max(-1), -jnp.inf)
        return Hypotheses(tokens[:, None], score[:, None])
