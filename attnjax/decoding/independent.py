"""Searches whose hypotheses do not compete: a word always continues the hypothesis before it."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding.search import Hypotheses, Search, pick


class Independent(NamedTuple):
    """The hypotheses of each sentence; `number` is the sentence's, see `Search.init`."""

    last: Int[Array, "B K"]
    active: Bool[Array, " B"]
    limit: Int[Array, " B"]
    number: Int[Array, " B"]
    tokens: Int[Array, "B K L"]
    score: Float[Array, "B K"]


@dataclass(frozen=True, kw_only=True)
class IndependentSearch(Search):
    """A search that chooses the next word of each hypothesis by itself; END finishes it."""

    @abstractmethod
    def choose(
        self, state: Independent, logits: Float[Array, "B K V"], step: Int[Array, ""]
    ) -> tuple[Int[Array, "B K"], Float[Array, "B K"]]:
        """Return the next word of each hypothesis, and its score with that word."""

    def init(self, limit: Array, length: int, number: Array) -> Independent:
        shape = len(limit), self.width
        score = jnp.where(limit > 0, 0.0, -jnp.inf).astype(jnp.float32)
        return Independent(
            last=jnp.full(shape, START, jnp.int32),
            active=limit > 0,
            limit=jnp.minimum(limit, length),
            number=number,
            tokens=jnp.full((*shape, length), PAD, jnp.int32),
            score=jnp.broadcast_to(score[:, None], shape),
        )

    def advance(self, state: Independent, logits: Array, step: Array) -> tuple[Independent, Array]:
        chosen, score = self.choose(state, logits, step)
        unfinished = state.active[:, None] & (state.last != END) & (state.last != PAD)
        token = jnp.where(unfinished, chosen, PAD)
        live = ((token != END) & (token != PAD)).any(-1) & (step + 1 < state.limit)
        after = state._replace(
            last=token,
            active=state.active & live,
            tokens=state.tokens.at[:, :, step].set(token),
            score=jnp.where(unfinished, score, state.score),
        )
        return after, jnp.broadcast_to(jnp.arange(self.width, dtype=jnp.int32)[None], token.shape)

    def finalize(self, state: Independent) -> Hypotheses:
        score, order = jax.lax.top_k(state.score, self.width)
        return Hypotheses(pick(state.tokens, order), score)
