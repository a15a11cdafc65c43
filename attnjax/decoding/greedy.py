"""Greedy search: the most probable word at every step."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array

from attnjax.decoding.independent import Independent, IndependentSearch
from attnjax.decoding.top_k import top_continuations


@dataclass(frozen=True, kw_only=True)
class Greedy(IndependentSearch):
    """The most probable word at every step: one hypothesis, scored by its log-probability."""

    def choose(self, state: Independent, logits: Array, step: Array) -> tuple[Array, Array]:
        may_end, must_end = jnp.asarray(True), step + 1 >= state.limit
        best = top_continuations(logits, state.score, may_end=may_end, must_end=must_end, count=1)
        return best.token, best.score
