"""Attention as a recurrence: a state of constant size, with decay, with or without a delta rule."""

from abc import abstractmethod
from dataclasses import field
from typing import ClassVar

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.attention import AttentionBase
from attnjax.attention.mask import Causal, MaskLike, as_mask
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Contexts, Keys, OneQuery, Queries, Values
from attnjax.attention.state.chunked import (
    State,
    Words,
    causal_contexts,
    empty_state,
    final_state,
    hide_words,
    write_word,
)
from attnjax.attention.state.decay import Decay, NoDecay, WordDecay
from attnjax.attention.state.feature_map import (
    EluPlusOne,
    FeatureMap,
    SignedFeatureMap,
    TaylorFeatures,
)
from attnjax.attention.state.key_rules import key_rules
from attnjax.config.constraints import PositiveFloat
from attnjax.errors import UserError
from attnjax.nn.dtypes import widen
from attnjax.nn.linear import Dense

EPSILON = 1e-6
"""Added to the squared norm of a query or key before its root."""


class RecurrentAttention(AttentionBase):
    """context[t] = S_t^T q_t, with a state S_t [K, V] to which the words up to t are written.

    The equations are those of `attnjax.attention.state.chunked`. Time and memory grow with T, and a
    search keeps the state alone. There are no weights: asking for the collection "attention" gives
    none. A row that may attend to nothing gives the context 0.

    The masks are `Padding`, `Causal` and, with `Causal`, `Segments`. Words follow each other as
    they stand in the row. Without `Causal` every query reads the state after the last word. If
    positions are given and the row is not packed, or there are not as many queries as keys, the
    keys that a query sees are written anew for each query.
    """

    packs = True
    may_be_zero = True

    delta_rule: ClassVar[bool]
    """Whether u_t is the difference to the value that the state holds at k_t."""

    @abstractmethod
    def prepare(self, key: Keys, value: Values, inputs: jax.Array | None = None) -> Words:
        """Return what each word writes."""

    @abstractmethod
    def scaled(self, query: Queries) -> Queries:
        """Return the queries as they read a state."""

    def context_of(self, read: jax.Array) -> Contexts:
        """Return the contexts of what queries read of a state; by default that itself."""
        return read

    @nn.nowrap
    def reads_inputs(self) -> bool:
        return True

    def start(self, memory: Words) -> State:
        return empty_state(memory)

    def step(self, query: OneQuery, memory: Words, state: State) -> tuple[jax.Array, State]:
        state = write_word(state, memory, delta_rule=self.delta_rule)
        context = self.context_of(self.scaled(query) @ state)
        return _narrowed(context, memory.value.dtype), state

    def attend(
        self,
        query: Queries,
        memory: Words,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool | None = None,
    ) -> Contexts:
        dtype = memory.value.dtype
        rules = key_rules(as_mask(mask, query), type(self).__name__, packs=True)
        memory, query = Words(*(widen(numbers) for numbers in memory)), self.scaled(query)
        if rules.present is not None:
            memory = hide_words(memory, rules.present)
        as_many = query.shape[-2] == memory.value.shape[-2]
        if rules.starts is not None and not (rules.causal and as_many):
            raise UserError(
                f"{type(self).__name__} reads packed rows from left to right, with as many queries "
                "as keys: it wants the mask Causal beside Segments"
            )
        in_order = as_many and all(numbers is None for numbers in positions)
        if not rules.causal:
            context = query @ final_state(memory, delta_rule=self.delta_rule)
        elif rules.starts is not None or in_order:
            context = causal_contexts(query, memory, rules.starts, delta_rule=self.delta_rule)
        else:
            context = self._one_by_one(query, memory, positions.filled(query, memory.value))
        return _narrowed(self.context_of(context), dtype)

    def _one_by_one(self, query: jax.Array, memory: Words, positions: Positions) -> jax.Array:
        """Return the context of queries that each see the keys up to their position."""

        @jax.checkpoint
        def read(row: tuple[jax.Array, jax.Array]) -> jax.Array:
            query, seen = row
            state = final_state(hide_words(memory, seen), delta_rule=self.delta_rule)
            return (query[..., None, :] @ state)[..., 0, :]

        seen = jnp.broadcast_to(
            Causal().dense(positions), (*query.shape[:-1], memory.value.shape[-2])
        )
        rows = jnp.moveaxis(query, -2, 0), jnp.moveaxis(seen, -2, 0)
        return jnp.moveaxis(jax.lax.map(read, rows), 0, -2)


class DecayedState(RecurrentAttention):
    """S_t = diag(a_t) S_{t-1} + b_t k_t v_t^T, context[t] = S_t^T q_t / sqrt(K).

    With the decay `HeadDecay` it is retention, with `SigmoidDecay` gated linear attention, with
    `WordDecay(discretized=True)` the state-space layer of Mamba-2, without its convolution; with
    `NoDecay` linear attention without a normalizer. b_t is 1 but for Mamba-2. Their models
    normalize the contexts of each head, and multiply them by a gate: `MultiHead.context_norm` and
    `MultiHead.gate`.

    Source: Sun et al. 2023, eq. 5; Yang et al. 2024a, eq. 3; Dao and Gu 2024, eq. 1.
    """

    delta_rule = False

    decay: Decay = field(default_factory=WordDecay)

    @nn.compact
    def prepare(self, key: Keys, value: Values, inputs: jax.Array | None = None) -> Words:
        log_decay, strength = self.decay(key if inputs is None else inputs, key.shape[-1])
        return Words(key, value, *_for_each(key, log_decay, strength))

    def scaled(self, query: Queries) -> Queries:
        return widen(query) / query.shape[-1] ** 0.5


class DeltaRule(RecurrentAttention):
    """S_t = (I - b_t k_t k_t^T) diag(a_t) S_{t-1} + b_t k_t v_t^T, context = S_t^T q_t / sqrt(K).

    b_t = `largest_strength` sigmoid(w . x_t) of the layer's input x_t. Queries and keys are divided
    by their norms: with b_t = 1 a word replaces the value that the state holds at its key, and with
    b_t above 1, up to 2, the state can change sign along it, which tracking a parity needs. With
    `WordDecay` it is the gated delta rule, with `FeatureDecay` Kimi's delta attention. Contexts are
    normalized and gated as those of `DecayedState`.

    Source: Schlag et al. 2021, eq. 24; Yang et al. 2024b, eq. 4; Yang et al. 2025, eq. 10;
    b_t up to 2: Grazzi et al. 2025, section 4.
    """

    delta_rule = True

    decay: Decay = field(default_factory=NoDecay)
    largest_strength: PositiveFloat = 1.0

    @nn.compact
    def prepare(self, key: Keys, value: Values, inputs: jax.Array | None = None) -> Words:
        inputs = key if inputs is None else inputs
        log_decay, written = self.decay(inputs, key.shape[-1])
        gate = widen(Dense((1,), bias=False, name="strength")(inputs))
        strength = self.largest_strength * jax.nn.sigmoid(gate) * written
        return Words(_normalized(key), value, *_for_each(key, log_decay, strength))

    def scaled(self, query: Queries) -> Queries:
        return _normalized(widen(query)) / query.shape[-1] ** 0.5


def _for_each(key: jax.Array, *numbers: jax.Array) -> tuple[jax.Array, ...]:
    """Return [..., S, any] numbers in the leading shape of keys."""
    return tuple(jnp.broadcast_to(x, (*key.shape[:-1], x.shape[-1])) for x in numbers)


def _narrowed(context: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """Return contexts in a dtype: no weights bound their sums, which float16 may not hold."""
    greatest = float(jnp.finfo(dtype).max)
    return jnp.clip(context, -greatest, greatest).astype(dtype)


def _normalized(x: jax.Array) -> jax.Array:
    """Return vectors divided by their norms, sqrt(x . x + epsilon)."""
    squares = (widen(x) ** 2).sum(-1, keepdims=True)
    return (widen(x) * jax.lax.rsqrt(squares + EPSILON)).astype(x.dtype)


class SignedLinearAttention(RecurrentAttention):
    """context[t] = phi(q_t) S_t / (phi(q_t) . z_t), with features phi of any sign.

    S_t and z_t add up phi(k_s) v_s^T and phi(k_s) of the keys that t may see: they are one state
    [F, V + 1], whose values have one more feature, 1. `LinearAttention` is for positive features,
    which it adds up by their logarithms.

    Source: Katharopoulos et al. 2020, eq. 4; Zhang et al. 2024 (Hedgehog), of Taylor features.
    """

    delta_rule = False
    may_be_zero = False

    feature_map: SignedFeatureMap = field(default_factory=TaylorFeatures)

    @nn.nowrap
    def reads_inputs(self) -> bool:
        return False

    def prepare(self, key: Keys, value: Values, inputs: jax.Array | None = None) -> Words:
        features = self.feature_map(key)
        one = jnp.ones_like(features[..., :1])
        ones = jnp.broadcast_to(one, (*value.shape[:-1], 1)).astype(value.dtype)
        return Words(features, jnp.concatenate([value, ones], -1), jnp.zeros_like(one), one)

    def scaled(self, query: Queries) -> Float[Array, "*#B T F"]:
        return self.feature_map(query)

    def context_of(self, read: jax.Array) -> Contexts:
        return divided(read, self.feature_map.least_product)


def divided(sums: jax.Array, least: float) -> jax.Array:
    """Divide by the last feature, the sum of a query's weights; 0 if the query sees no key.

    The other features may cancel and leave of it what rounding adds, so that it is kept at the
    `least` that a key's weight can be.
    """
    total = sums[..., -1:]
    return sums[..., :-1] / jnp.where(total == 0, 1, jnp.maximum(total, least))


class FastWeights(RecurrentAttention):
    """S_t = S_{t-1} + b_t f(k_t) (v_t - S_{t-1}^T f(k_t))^T,   context[t] = S_t^T f(q_t).

        f(x) = phi(x) / sum of phi(x),   b_t = sigmoid(w . x_t)

    x_t is the layer's input, phi the `feature_map`. A word moves the value that the state [F, V]
    holds at its key towards its own. Features of a query and of a key sum to 1, without which, the
    authors write, their models diverged; contexts are divided by nothing.

    Source: Schlag et al. 2021, section 4.2: eq. 24 is the rule; the sum, too.
    """

    delta_rule = True

    feature_map: FeatureMap = field(default_factory=EluPlusOne)

    @nn.compact
    def prepare(self, key: Keys, value: Values, inputs: jax.Array | None = None) -> Words:
        inputs = key if inputs is None else inputs
        gate = widen(Dense((1,), bias=False, name="strength")(inputs))
        strength = jnp.broadcast_to(jax.nn.sigmoid(gate), (*key.shape[:-1], 1))
        features = self._shares(key).astype(key.dtype)
        return Words(features, value, jnp.zeros_like(strength), strength)

    def scaled(self, query: Queries) -> Float[Array, "*#B T F"]:
        return self._shares(query)

    def _shares(self, x: jax.Array) -> jax.Array:
        """Return phi(x) / sum of phi(x), [..., F]."""
        return jax.nn.softmax(self.feature_map(x))
