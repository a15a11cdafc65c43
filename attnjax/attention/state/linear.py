"""Linear attention: products of features take the place of the softmax's exponential.

    context[t] = sum over s of (phi(q_t) . phi(k_s)) v_s / sum over s of phi(q_t) . phi(k_s)
               = phi(q_t) S / (phi(q_t) . z)

    S = sum over s of phi(k_s) v_s^T,    z = sum over s of phi(k_s)

S and z are the same for all queries that see the same keys. So time and memory grow with T + S, not
with T S, and no [T, S] weights are computed.
"""

from collections.abc import Sequence
from dataclasses import field
from math import ceil
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnjax.attention.attention import AttentionBase
from attnjax.attention.mask import Causal, MaskLike, Padding, as_mask
from attnjax.attention.masked import zero_hidden
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Contexts, Keys, OneQuery, Queries, Values
from attnjax.attention.state.chunked import by_halves
from attnjax.attention.state.feature_map import EluPlusOne, FeatureMap
from attnjax.attention.state.key_rules import key_rules
from attnjax.nn.axes import known_length, varying_as

CHUNK = 64
"""The number of causal queries in a chunk, a power of 2. A query sees the keys of its own
chunk by products, those before it by their sums."""

GROUP = 4
"""The number of chunks that are read at once; only their states are read one by one."""

NO_KEY = -1e30
"""The log-scale of a feature that no key has: the features of hidden keys, exp(-inf - NO_KEY), are
0, and the difference of two such scales is not NaN."""

LogFeatures = Float[Array, "*#B T F"]
"""log phi(q_t) of queries."""


class LinearMemory(NamedTuple):
    """The keys' log phi(k_s), [..., S, F], -inf if a key is hidden, and the values [..., S, V]."""

    log_features: jax.Array
    value: jax.Array


class LinearState(NamedTuple):
    """S and z of some keys, each feature divided by exp(c), its largest among the keys.

    A feature of z is from 1 to the number of keys, however small the keys' features are. So a query
    that adds c to its own logarithms fits some key, whatever its features. The
    values are S, [..., F, V], the keys z and the log-scale c, [..., F, 1], a constant for the
    gradient.
    """

    values: jax.Array
    keys: jax.Array
    log_scale: jax.Array


def empty_state(memory: LinearMemory) -> LinearState:
    """Return S and z of no key, in the shapes of this memory."""
    *leading, _, features = memory.log_features.shape
    wide = jnp.result_type(memory.log_features, memory.value)
    none = jnp.zeros((*leading, features, 1), memory.log_features.dtype)
    values = jnp.zeros((*leading, features, memory.value.shape[-1]), wide)
    return LinearState(values, none, jnp.full_like(none, NO_KEY))


def add_keys(state: LinearState, memory: LinearMemory) -> LinearState:
    """Add all keys of a memory to S and z. Katharopoulos et al. 2020, eqs. 18 and 19."""
    return add_chunks(state, LinearMemory(*(x[None] for x in memory)))[0]


def add_chunks(state: LinearState, memory: LinearMemory) -> tuple[LinearState, LinearState]:
    """Add the chunks of a memory, [G, ..., C, any]; return S and z after all and before each.

    Those before each chunk are [G, ...]. Only the sums are computed one chunk after the other;
    what is added to them is one product.
    """
    log_features = jnp.swapaxes(memory.log_features, -1, -2)
    largest = jnp.concatenate([state.log_scale[None], _largest(log_features, -1)])
    largest = jax.lax.associative_scan(jnp.maximum, largest)
    before, after = largest[:-1], largest[1:]
    features, decay = jnp.exp(log_features - after), jnp.exp(before - after)
    chunks = decay, features @ memory.value, features.sum(-1, keepdims=True)

    def add(sums: tuple[jax.Array, ...], chunk: tuple[jax.Array, ...]):
        (values, keys), (decay, more_values, more_keys) = sums, chunk
        return (decay * values + more_values, decay * keys + more_keys), sums

    sums = varying_as((state.values, state.keys), (chunks, before))
    (values, keys), (earlier_values, earlier_keys) = jax.lax.scan(add, sums, chunks)
    earlier = LinearState(earlier_values, earlier_keys, before)
    return LinearState(values, keys, after[-1]), earlier


def read_state(query: LogFeatures, state: LinearState) -> Contexts:
    """Return the context of queries, log phi(q_t), that see the keys of a state.

    Source: Katharopoulos et al. 2020, eqs. 6 and 20.
    """
    query = query + jnp.swapaxes(state.log_scale, -1, -2)
    features = jnp.exp(query - _largest(query, -1))
    return _share(features @ state.keys) * features @ state.values


def read_allowed(query: LogFeatures, memory: LinearMemory, allowed: jax.Array) -> Contexts:
    """Return the context of queries that each see other keys, one query after the other."""

    @jax.checkpoint
    def read(row: tuple[jax.Array, jax.Array]) -> jax.Array:
        query, allowed = row
        log_products = query[..., None, :] + _hide(memory, allowed).log_features
        scale = _largest(log_products, (-2, -1))
        weights = jnp.exp(log_products - scale).sum(-1)[..., None, :]
        return (_share(weights.sum(-1, keepdims=True)) * weights @ memory.value)[..., 0, :]

    context = jax.lax.map(read, (jnp.moveaxis(query, -2, 0), jnp.moveaxis(allowed, -2, 0)))
    return jnp.moveaxis(context, 0, -2)


def earlier_weights(
    query: Float[Array, "*B T F"], key: Float[Array, "*B T F"], scale: Float[Array, "*B T 1"]
) -> Float[Array, "*B T T"]:
    """Return phi(q_t) . phi(k_s) / exp(m_t) for all keys s up to t, 0 for the others.

    T is a power of 2. In the product of the later half of the queries with the keys of the earlier
    half, see `by_halves`, each feature is divided by its largest among these keys. No factor is
    above 1 where m_t is the largest log phi(q_t) phi(k_s) of all keys up to t.
    """

    def pairs(query: jax.Array, key: jax.Array, scale: jax.Array) -> jax.Array:
        seen = jnp.tril(jnp.ones((query.shape[-2], key.shape[-2]), bool))[..., None]
        log_products = query[..., :, None, :] + key[..., None, :, :] - scale[..., None]
        return jnp.exp(jnp.where(seen, log_products, -jnp.inf)).sum(-1)

    def across(later: Sequence[jax.Array], earlier: Sequence[jax.Array]) -> jax.Array:
        (query, _, scale), (_, key, _) = later, earlier
        largest = _largest(key, -2)
        features = jnp.exp(query + largest - scale)
        return features @ jnp.swapaxes(jnp.exp(key - largest), -1, -2)

    return by_halves((query, key, scale), pairs, across)


def causal_linear(query: LogFeatures, memory: LinearMemory) -> Contexts:
    """Return the context of T causal queries, each of the keys up to its own position.

    A state for every query would take T F V numbers. Here one is kept for each chunk of C queries,
    T F V / C, and within a chunk the products [C, C] of queries and keys. Chunks are read in
    groups. There are as many keys as queries.

    Source: Katharopoulos et al. 2020, eqs. 10 to 12; the chunks are ours.
    """
    length = known_length(query.shape[-2], "linear attention with the mask Causal")
    size = min(CHUNK, 1 << (length - 1).bit_length())
    groups = max(1, ceil(length / (size * GROUP)))
    together = max(1, ceil(length / (size * groups)))

    def chunks(x: jax.Array, filler: float = 0.0) -> jax.Array:
        """Cut [..., T, any] -> [T / G C, G, ..., C, any] into groups of G chunks."""
        padding = [(0, 0)] * (x.ndim - 2) + [(0, groups * together * size - length), (0, 0)]
        x = jnp.pad(x, padding, constant_values=filler)
        x = x.reshape(*x.shape[:-2], groups, together, size, x.shape[-1])
        return jnp.moveaxis(x, (-4, -3), (0, 1))

    def read(state: LinearState, group: Any) -> tuple[LinearState, jax.Array]:
        query, memory = group
        state, states = add_chunks(state, memory)
        before, (key, value) = jnp.swapaxes(states.log_scale, -1, -2), memory
        largest = jax.lax.associative_scan(jnp.maximum, key, axis=key.ndim - 2)
        scale = _largest(query + jnp.maximum(before, largest), -1)
        features, weights = jnp.exp(query + before - scale), earlier_weights(query, key, scale)
        share = _share(features @ states.keys + weights.sum(-1, keepdims=True))
        # divided before the products: their gradients need no context
        return state, share * features @ states.values + share * weights @ value

    split = LinearMemory(chunks(memory.log_features, -jnp.inf), chunks(memory.value))
    if groups > 1:  # what a group computes on its way is computed again for its gradients
        read = jax.checkpoint(read)
    cut = chunks(query), split
    _, context = jax.lax.scan(read, varying_as(empty_state(memory), cut), cut)
    context = jnp.moveaxis(context, (0, 1), (-4, -3))
    steps = groups * together * size
    return context.reshape(*context.shape[:-4], steps, context.shape[-1])[..., :length, :]


class LinearAttention(AttentionBase):
    """context[t] = phi(q_t) S_t / (phi(q_t) . z_t), with S_t and z_t of the keys that t may see.

    Time and memory grow with T + S, and in a search the state, S_t and z_t, does not grow. It has
    no weights: asking for the collection "attention" gives none. A row that may attend to nothing
    gives the context 0.

    The masks are `Padding` and `Causal`: any other rule, like a bias, says something of each pair
    of a query and a key, and T S products would have to be computed. `Causal` computes them itself,
    one query after the other, if positions are given or there are not as many queries as keys.

    Source: Katharopoulos et al. 2020, sections 3.2 to 3.4.
    """

    feature_map: FeatureMap = field(default_factory=EluPlusOne)

    def prepare(self, key: Keys, value: Values) -> LinearMemory:
        return LinearMemory(self.feature_map(key), value)

    def start(self, memory: LinearMemory) -> LinearState:
        return empty_state(memory)

    def step(
        self, query: OneQuery, memory: LinearMemory, state: LinearState
    ) -> tuple[jax.Array, LinearState]:
        state = add_keys(state, memory)
        context = read_state(self.feature_map(query), state)
        return context.astype(memory.value.dtype), state

    def attend(
        self,
        query: Queries,
        memory: LinearMemory,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool | None = None,
    ) -> Contexts:
        dtype, features = memory.value.dtype, self.feature_map(query)
        present, _, causal = key_rules(as_mask(mask, query), "LinearAttention", packs=False)
        if present is not None:
            memory = _hide(memory, present)
            memory = memory._replace(value=zero_hidden(Padding(present), memory.value))
        if not causal:
            context = read_state(features, add_keys(empty_state(memory), memory))
        elif all(x is None for x in positions) and query.shape[-2] == memory.value.shape[-2]:
            context = causal_linear(features, memory)
        else:
            positions = positions.filled(query, memory.value)
            shape = (*query.shape[:-1], memory.value.shape[-2])
            allowed = jnp.broadcast_to(Causal().dense(positions), shape)
            context = read_allowed(features, memory, allowed)
        return context.astype(dtype)


def _largest(logarithms: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
    """Return the largest along an axis, which is kept; at least NO_KEY, without a gradient."""
    largest = logarithms.max(axis, keepdims=True, initial=NO_KEY)
    return jax.lax.stop_gradient(largest)


def _share(total: jax.Array) -> jax.Array:
    """Return 1 / the sum of a query's weights; 1 if the query sees no key."""
    return 1 / jnp.where(total == 0, 1, total)


def _hide(memory: LinearMemory, present: jax.Array) -> LinearMemory:
    """Hide the keys of a memory where booleans [..., S] are False."""
    log_features = jnp.where(present[..., None], memory.log_features, -jnp.inf)
    return memory._replace(log_features=log_features)
