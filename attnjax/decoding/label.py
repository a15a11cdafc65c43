"""The search of a classifier: one step, and its most probable symbol."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.decoding.search import Hypotheses, Search


class _Label(NamedTuple):
    """What is known of a text."""

    last: jax.Array
    going: jax.Array
    found: Hypotheses


@dataclass(frozen=True, kw_only=True)
class Label(Search):
    """The most probable symbol that is none of PAD, START, END and UNKNOWN, and nothing after it.

    The probabilities of the labels are not renormalised for the four.
    """

    def begin(self, limit: jax.Array, length: int) -> _Label:
        batch = limit.shape[0]
        return _Label(
            last=jnp.full((batch, 1), START, jnp.int32),
            going=limit > 0,
            found=Hypotheses(
                jnp.full((batch, 1, length), PAD, jnp.int32),
                jnp.full((batch, 1), -jnp.inf, jnp.float32),
            ),
        )

    def choose(
        self, state: _Label, logits: jax.Array, place: jax.Array
    ) -> tuple[_Label, jax.Array]:
        symbol = jax.lax.broadcasted_iota(jnp.int32, logits.shape, logits.ndim - 1)
        special = jnp.isin(symbol, jnp.asarray([PAD, START, END, UNKNOWN]))
        log_probability = jax.nn.log_softmax(logits.astype(jnp.float32))
        log_probability = jnp.where(special, -jnp.inf, log_probability)
        there = state.going[:, None]
        label = jnp.where(there, log_probability.argmax(-1).astype(jnp.int32), PAD)
        found = Hypotheses(
            jnp.asarray(state.found.tokens).at[:, :, place].set(label),
            jnp.where(there, log_probability.max(-1), state.found.scores),
        )
        after = _Label(last=label, going=jnp.zeros_like(state.going), found=found)
        return after, jnp.zeros_like(label)

    def found(self, state: _Label) -> Hypotheses:
        return state.found
