"""Sampling: the next word is drawn from the model's probabilities, or from the largest ones."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
from annotated_types import Gt, Le

from attnjax.config.constraints import NonNegativeInt, PositiveFloat, PositiveInt
from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding.search import Hypotheses, Search, pick


class _SampleState(NamedTuple):
    """The hypotheses of each sentence, and the number that its random draws depend on.

    Attributes:
        last: [B, K].
        active: whether any hypothesis is unfinished, [B].
        limit: [B].
        number: the number of the sentence, int [B].
        tokens: [B, K, L].
        score: float32 [B, K].
    """

    last: jax.Array
    active: jax.Array
    limit: jax.Array
    number: jax.Array
    tokens: jax.Array
    score: jax.Array


@dataclass(frozen=True, kw_only=True)
class Sample(Search):
    """Each word is drawn from p(v)^(1/temperature), restricted to the most probable words.

    Words are drawn from the `top_k` most probable ones, and of these from the fewest whose
    probabilities sum to at least `top_p`; the remaining probabilities are renormalized. The
    score of a hypothesis is its log-probability under the model itself, neither restricted nor
    flattened. Of several hypotheses the one with the best score comes first.

    The draws of a sentence depend on the seed, the sentence's number and the step alone: not on the
    other sentences of its batch, nor on padding.

    Attributes:
        temperature: near 0 the most probable word is always drawn; above 1 the probabilities become
            more alike.
        top_k: the number of words to draw from; 1 is greedy search; None: all words.
        top_p: the least sum of probabilities to draw from; near 0 is greedy search; 1: all words.
        seed: the seed of the draws.
        size: K, how many hypotheses are drawn, independently.

    Source: Ackley et al. 1985 (temperature); Fan et al. 2018, section 5.1 (top-k); Holtzman et al.
        2020, eq. 2 (top-p, the nucleus).
    """

    temperature: PositiveFloat = 1.0
    top_k: PositiveInt | None = None
    top_p: Annotated[float, Gt(0), Le(1)] = 1.0
    seed: NonNegativeInt = 0
    size: Annotated[PositiveInt, Le(10_000)] = 1

    @property
    def width(self) -> int:
        return self.size

    def init(self, limit: jax.Array, length: int, number: jax.Array) -> _SampleState:
        shape = limit.shape[0], self.size
        score = jnp.where(limit > 0, 0.0, -jnp.inf).astype(jnp.float32)
        return _SampleState(
            last=jnp.full(shape, START, jnp.int32),
            active=limit > 0,
            limit=jnp.minimum(limit, length),
            number=number,
            tokens=jnp.full((*shape, length), PAD, jnp.int32),
            score=jnp.broadcast_to(score[:, None], shape),
        )

    def advance(
        self, state: _SampleState, logits: jax.Array, step: jax.Array
    ) -> tuple[_SampleState, jax.Array]:
        logits = logits.astype(jnp.float32)
        word = jnp.arange(logits.shape[-1])[None, None]
        at_limit = (step + 1 >= state.limit)[:, None, None]
        allowed = jnp.where(at_limit, word == END, (word != PAD) & (word != START))

        def draw(number: jax.Array, logits: jax.Array) -> jax.Array:
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(self.seed), number), step)
            return self.draw(key, logits)

        drawn = jax.vmap(draw)(state.number, jnp.where(allowed, logits, -jnp.inf))
        active = state.active[:, None] & (state.last != END) & (state.last != PAD)
        token = jnp.where(active, drawn, PAD)
        gain = jnp.take_along_axis(jax.nn.log_softmax(logits), drawn[..., None], axis=-1)[..., 0]
        after = _SampleState(
            last=token,
            active=state.active & ((token != END) & (token != PAD)).any(-1),
            limit=state.limit,
            number=state.number,
            tokens=state.tokens.at[:, :, step].set(token),
            score=jnp.where(active, state.score + gain, state.score),
        )
        own = jnp.arange(self.size, dtype=jnp.int32)[None]
        return after, jnp.broadcast_to(own, token.shape)

    def draw(self, key: jax.Array, logits: jax.Array) -> jax.Array:
        """Words [K] drawn from logits [K, V], each from a row; -inf is never drawn."""
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

    def finalize(self, state: _SampleState) -> Hypotheses:
        score, order = jax.lax.top_k(state.score, self.size)
        return Hypotheses(pick(state.tokens, order), score)
