"""Linear attention: products of features take the place of the softmax's exponential.

    context[t] = sum over s of (phi(q_t) . phi(k_s)) v_s / sum over s of phi(q_t) . phi(k_s)
               = phi(q_t) S / (phi(q_t) . z)

    S = sum over s of phi(k_s) v_s^T,    z = sum over s of phi(k_s)

S and z are the same for all queries that see the same keys. So time and memory grow with T + S, not
with T S, and no [T, S] weights are computed.
"""

from dataclasses import field
from functools import reduce
from operator import and_
from typing import NamedTuple

import jax
import jax.numpy as jnp

from attnjax.attention.attention import AttentionBase
from attnjax.attention.feature_map import EluPlusOne, FeatureMap
from attnjax.attention.mask import Causal, Mask, MaskLike, Padding, as_mask
from attnjax.attention.position import Positions
from attnjax.errors import UserError

CHUNK = 64
"""Causal queries are read in chunks of so many. A query sees the keys of its own chunk one by one,
those before it by their sums."""

NO_KEY = -1e30
"""The log-scale where there is no key: exp of it is 0, and the difference of two is not NaN."""


class LinearMemory(NamedTuple):
    """The keys' features, divided by each key's largest, and the values: phi(k_s) = exp(c_s) f_s.

    Attributes:
        features: f, [..., S, F], from 0 to 1.
        log_scale: c, [..., S, 1]; a constant for the gradient.
        value: [..., S, V].
    """

    features: jax.Array
    log_scale: jax.Array
    value: jax.Array


class LinearState(NamedTuple):
    """S and z of some keys, both divided by exp(c).

    Attributes:
        values: S, [..., F, V].
        keys: z, [..., 1, F].
        log_scale: c, the largest of the keys, [..., 1, 1]; a constant for the gradient.
    """

    values: jax.Array
    keys: jax.Array
    log_scale: jax.Array


def empty_state(memory: LinearMemory) -> LinearState:
    """S and z of no key, in the shapes of this memory."""
    *leading, _, features = memory.features.shape
    wide = jnp.result_type(memory.features, memory.value)
    return LinearState(
        jnp.zeros((*leading, features, memory.value.shape[-1]), wide),
        jnp.zeros((*leading, 1, features), memory.features.dtype),
        jnp.full((*leading, 1, 1), NO_KEY, memory.log_scale.dtype),
    )


def add_keys(state: LinearState, memory: LinearMemory) -> LinearState:
    """S and z with all keys of a memory. Katharopoulos et al. 2020, eqs. 18 and 19."""
    log_scale = jnp.maximum(state.log_scale, memory.log_scale.max(-2, keepdims=True))
    before = jnp.exp(state.log_scale - log_scale)
    features = memory.features * jnp.exp(memory.log_scale - log_scale)
    return LinearState(
        before * state.values + jnp.einsum("...sf,...sv->...fv", features, memory.value),
        before * state.keys + features.sum(-2, keepdims=True),
        log_scale,
    )


def read_state(query: jax.Array, state: LinearState) -> jax.Array:
    """The context phi(q) S / (phi(q) . z) of queries that see only the keys of a state.

    Args:
        query: features, [..., T, F]; a factor of a query's features cancels.
        state: of the keys.

    Returns:
        [..., T, V]; 0 if there is no key.

    Source: Katharopoulos et al. 2020, eqs. 6 and 20.
    """
    return _ratio(query @ state.values, _products(query, state.keys))


def read_keys(
    query: jax.Array, state: LinearState, memory: LinearMemory, allowed: jax.Array
) -> jax.Array:
    """The context of queries that see the keys of a state and the allowed keys of a memory.

    Args:
        query: features, [..., T, F].
        state: of the keys that all queries see.
        memory: of S other keys.
        allowed: booleans [..., T, S].
    """
    scale = jnp.swapaxes(memory.log_scale, -1, -2)
    largest = jnp.where(allowed, scale, NO_KEY).max(-1, keepdims=True)
    largest = jnp.maximum(largest, state.log_scale)
    products = jnp.einsum("...tf,...sf->...ts", query, memory.features)
    products = jnp.where(allowed, products * jnp.exp(jnp.minimum(scale - largest, 0)), 0)
    before = jnp.exp(state.log_scale - largest)
    return _ratio(
        products @ memory.value + before * (query @ state.values),
        products.sum(-1, keepdims=True) + before * _products(query, state.keys),
    )


def causal_linear(query: jax.Array, memory: LinearMemory) -> jax.Array:
    """Causal linear attention: the context of T queries, each of the keys up to its own.

    A state for every query would take T F V numbers. Here one is kept for each chunk of C queries,
    T F V / C, and within a chunk the products [C, C] of queries and keys.

    Args:
        query: features, [..., T, F].
        memory: of T keys.

    Returns:
        [..., T, V].

    Source: Katharopoulos et al. 2020, eqs. 10 to 12; the chunks are ours.
    """
    length = query.shape[-2]
    size = min(CHUNK, length)
    square = (*query.shape[:-2], size, size)
    allowed = jnp.broadcast_to(jnp.tril(jnp.ones((size, size), bool)), square)

    def chunks(x: jax.Array, filler: float = 0.0) -> jax.Array:
        """[..., T, any] -> [T / C, ..., C, any]."""
        behind = [(0, 0)] * (x.ndim - 2) + [(0, -length % size), (0, 0)]
        x = jnp.pad(x, behind, constant_values=filler)
        return jnp.moveaxis(x.reshape(*x.shape[:-2], -1, size, x.shape[-1]), -3, 0)

    @jax.checkpoint
    def read(
        state: LinearState, chunk: tuple[jax.Array, LinearMemory]
    ) -> tuple[LinearState, jax.Array]:
        query, memory = chunk
        return add_keys(state, memory), read_keys(query, state, memory, allowed)

    features, log_scale, value = memory
    split = LinearMemory(chunks(features), chunks(log_scale, NO_KEY), chunks(value))
    _, context = jax.lax.scan(read, empty_state(memory), (chunks(query), split))
    context = jnp.moveaxis(context, 0, -3)
    return context.reshape(*context.shape[:-3], -1, context.shape[-1])[..., :length, :]


class LinearAttention(AttentionBase):
    """context[t] = phi(q_t) S_t / (phi(q_t) . z_t), with S_t and z_t of the keys that t may see.

    Time and memory grow with T + S, and in a search the state, S_t and z_t, does not grow. It has
    no weights: asking for the collection "attention" gives none. A row that may attend to nothing
    gives the context 0.

    The masks are `Padding` and `Causal`: any other rule, like a bias, says something of each pair
    of a query and a key, and T S products would have to be computed. `Causal` computes them itself
    if positions are given, or if there are not as many queries as keys.

    Attributes:
        feature_map: phi.

    Raises:
        UserError: a mask is neither `Padding` nor `Causal`.

    Source: Katharopoulos et al. 2020, sections 3.2 to 3.4.
    """

    feature_map: FeatureMap = field(default_factory=EluPlusOne)

    def prepare(self, key: jax.Array, value: jax.Array) -> LinearMemory:
        """Keys [..., S, K] and values [..., S, V] -> the keys' features, and the values."""
        return LinearMemory(*_scaled(self.feature_map(key)), value)

    def start(self, memory: LinearMemory) -> LinearState:
        """S and z of no key."""
        return empty_state(memory)

    def step(
        self, query: jax.Array, memory: LinearMemory, state: LinearState
    ) -> tuple[jax.Array, LinearState]:
        """Add the word's key to the state, then read the state."""
        state = add_keys(state, memory)
        context = read_state(self._features(query), state)
        return context.astype(memory.value.dtype), state

    def attend(
        self,
        query: jax.Array,
        memory: LinearMemory,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool,
    ) -> jax.Array:
        """Queries [..., T, K] -> context [..., T, V]."""
        del deterministic
        dtype, features = memory.value.dtype, self._features(query)
        present, causal = _rules(as_mask(mask, query))
        if present is not None:
            memory = _hide(memory, present)
        if not causal:
            context = read_state(features, add_keys(empty_state(memory), memory))
        elif all(x is None for x in positions) and query.shape[-2] == memory.value.shape[-2]:
            context = causal_linear(features, memory)
        else:
            allowed = Causal().dense(positions.filled(query, memory.value))
            shape = (*query.shape[:-1], memory.value.shape[-2])
            allowed = jnp.broadcast_to(allowed, shape)
            context = read_keys(features, empty_state(memory), memory, allowed)
        return context.astype(dtype)

    def _features(self, query: jax.Array) -> jax.Array:
        """The queries' features [..., T, F]; their scale cancels."""
        features, _ = _scaled(self.feature_map(query))
        return features


def _scaled(log_features: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Features over their largest, and the logarithm of the largest, [..., S, 1]."""
    log_scale = jax.lax.stop_gradient(log_features.max(-1, keepdims=True))
    return jnp.exp(log_features - log_scale), log_scale


def _hide(memory: LinearMemory, present: jax.Array) -> LinearMemory:
    """The memory without the keys where booleans [..., S] are False."""
    present = present[..., None]
    features, log_scale, value = memory
    return LinearMemory(
        jnp.where(present, features, 0), jnp.where(present, log_scale, NO_KEY), value
    )


def _rules(mask: Mask | None) -> tuple[jax.Array | None, bool]:
    """The keys [..., S] that are not padding (None: all), and whether the mask is causal.

    Raises:
        UserError: the mask has another rule.
    """
    rules = () if mask is None else mask.rules()
    for rule in rules:
        if not isinstance(rule, Padding | Causal):
            raise UserError(
                "LinearAttention takes the masks Padding and Causal, which need no weights; got "
                f"{type(rule).__name__}: use Attention"
            )
    present = [rule.present for rule in rules if isinstance(rule, Padding)]
    return reduce(and_, present) if present else None, any(isinstance(r, Causal) for r in rules)


def _products(query: jax.Array, key: jax.Array) -> jax.Array:
    """phi(q) . z: [..., T, F], [..., 1, F] -> [..., T, 1]."""
    return jnp.einsum("...tf,...sf->...ts", query, key)


def _ratio(numerator: jax.Array, total: jax.Array) -> jax.Array:
    """Numerator [..., T, V] over total [..., T, 1]; 0 where the total is 0."""
    empty = total == 0
    return jnp.where(empty, 0, numerator / jnp.where(empty, 1, total))
