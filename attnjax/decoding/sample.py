"""Sampling: the next word is drawn from the model's probabilities, or from the largest ones."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
from annotated_types import Gt, Le
from jaxtyping import Array, Float, Int

from attnjax.config.constraints import NonNegativeInt, PositiveFloat, PositiveInt
from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding.independent import Independent, IndependentSearch


@dataclass(frozen=True, kw_only=True)
class Sample(IndependentSearch):
    """Each word is drawn from p(v)^(1/temperature), restricted to the most probable words.

    Words are drawn from the `top_k` most probable ones (None: all), and of these from the fewest
    whose probabilities sum to at least `top_p`; the remaining probabilities are renormalized. The
    score of a hypothesis is its log-probability under the model itself, neither restricted nor
    flattened. K = `size` hypotheses are drawn, independently.

    The draws of a sentence depend on the seed, the sentence's number and the step alone: not on the
    other sentences of its batch, nor on padding.

    Source: Ackley et al. 1985 (temperature); Fan et al. 2018, section 5.1 (top-k); Holtzman et al.
        2020, eq. 2 (top-p, the nucleus).
    """

    temperature: PositiveFloat = 1.0
    top_k: PositiveInt | None = None
    top_p: Annotated[float, Gt(0), Le(1)] = 1.0
    seed: NonNegativeInt = 0
    size: Annotated[PositiveInt, Le(1_000)] = 1

    @property
    def width(self) -> int:
        return self.size

    def choose(self, state: Independent, logits: Array, step: Array) -> tuple[Array, Array]:
        logits = logits.astype(jnp.float32)
        word = jnp.arange(logits.shape[-1])[None, None]
        at_limit = (step + 1 >= state.limit)[:, None, None]
        allowed = jnp.where(at_limit, word == END, (word != PAD) & (word != START))
        given = jnp.where(allowed, logits, -jnp.inf)
        drawn = jax.vmap(partial(self.draw, step))(state.number, given)
        gain = jnp.take_along_axis(jax.nn.log_softmax(logits), drawn[..., None], axis=-1)[..., 0]
        return drawn, state.score + gain

    def draw(self, step: Array, number: Array, logits: Float[Array, "K V"]) -> Int[Array, " K"]:
        """Draw a sentence's words, each from a row of logits; -inf is never drawn."""
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(self.seed), number), step)
        # below 0, so that no temperature makes them infinite
        logits = (logits - logits.max(-1, keepdims=True)) / self.temperature
        if self.top_k is None and self.top_p == 1:
            return jax.random.categorical(key, logits).astype(jnp.int32)
        words = logits.shape[-1]
        count = words if self.top_k is None else min(self.top_k, words)
        logits, words = jax.lax.top_k(logits, count)
        if self.top_p < 1:
            probability = jax.nn.softmax(logits)
            before = probability.cumsum(-1) - probability
            logits = jnp.where(before < self.top_p, logits, -jnp.inf)
        rank = jax.random.categorical(key, logits)
        return jnp.take_along_axis(words, rank[:, None], axis=-1)[:, 0]
