"""Greedy search: the most probable word at every step."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding.search import Hypotheses, Search
from attnjax.decoding.top_k import top_continuations


class _GreedyState(NamedTuple):
    """The one hypothesis of each sentence."""

    last: jax.Array
    active: jax.Array
    limit: jax.Array
    tokens: jax.Array
    score: jax.Array


@dataclass(frozen=True, kw_only=True)
class Greedy(Search):
    """The most probable word at every step: one hypothesis, scored by its log-probability."""

    def init(self, limit: jax.Array, length: int, number: jax.Array) -> _GreedyState:
        del number
        batch = limit.shape[0]
        return _GreedyState(
            last=jnp.full((batch, 1), START, jnp.int32),
            active=limit > 0,
            limit=jnp.minimum(limit, length),
            tokens=jnp.full((batch, 1, length), PAD, jnp.int32),
            score=jnp.where(limit > 0, 0.0, -jnp.inf).astype(jnp.float32)[:, None],
        )

    def advance(
        self, state: _GreedyState, logits: jax.Array, step: jax.Array
    ) -> tuple[_GreedyState, jax.Array]:
        chosen = top_continuations(
            logits,
            state.score,
            may_end=jnp.asarray(True),
            must_end=step + 1 >= state.limit,
            count=1,
        )
        active = state.active[:, None]
        token = jnp.where(active, chosen.token, PAD)
        after = _GreedyState(
            last=token,
            active=state.active & (token != END).all(-1),
            limit=state.limit,
            tokens=state.tokens.at[:, :, step].set(token),
            score=jnp.where(active, chosen.score, state.score),
        )
        return after, chosen.parent

    def finalize(self, state: _GreedyState) -> Hypotheses:
        return Hypotheses(state.tokens, state.score)
