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
from jaxtyping import Array, Float

from attnjax.attention.attention import AttentionBase
from attnjax.attention.feature_map import EluPlusOne, FeatureMap
from attnjax.attention.mask import Causal, Mask, MaskLike, Padding, as_mask
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Contexts, Keys, Queries, Values
from attnjax.errors import UserError

CHUNK = 64
"""Causal queries are read in chunks of so many, a power of 2. A query sees the keys of its own
chunk by products, those before it by their sums."""

BLOCKS = 8
"""A chunk is read in so many blocks, and a block again, until each is one query."""

NO_KEY = -1e30
"""The log-scale of a feature that no key has: the features of hidden keys, exp(-inf - NO_KEY), are
0, and the difference of two such scales is not NaN."""


class LinearMemory(NamedTuple):
    """The logarithms of the keys' features, and the values.

    Attributes:
        log_features: log phi(k_s), [..., S, F]; -inf if the key is hidden.
        value: [..., S, V].
    """

    log_features: jax.Array
    value: jax.Array


class LinearState(NamedTuple):
    """S and z of some keys, each feature divided by exp(c), its largest among the keys.

    A feature of z is from 1 to the number of keys, however small the keys' features are. So a query
    that adds c to its own logarithms fits some key, whatever its features.

    Attributes:
        values: S, [..., F, V].
        keys: z, [..., F, 1].
        log_scale: c, [..., F, 1]; a constant for the gradient.
    """

    values: jax.Array
    keys: jax.Array
    log_scale: jax.Array


class LinearSums(NamedTuple):
    """The numerator and the denominator of contexts, both divided by exp(m).

    Attributes:
        numerator: [..., T, V].
        total: the denominator, [..., T, 1]; at least 1 if the query sees a key, else 0.
        log_scale: m, [..., T, 1]; a constant for the gradient.
    """

    numerator: jax.Array
    total: jax.Array
    log_scale: jax.Array

    def plus(self, other: "LinearSums") -> "LinearSums":
        """The sums over the keys of both."""
        log_scale = jnp.maximum(self.log_scale, other.log_scale)
        mine, theirs = (jnp.exp(x.log_scale - log_scale) for x in (self, other))
        return LinearSums(
            mine * self.numerator + theirs * other.numerator,
            mine * self.total + theirs * other.total,
            log_scale,
        )

    def context(self) -> jax.Array:
        """The quotient, [..., T, V]; 0 if the query sees no key."""
        empty = self.total == 0
        return jnp.where(empty, 0, self.numerator / jnp.where(empty, 1, self.total))


def empty_state(memory: LinearMemory) -> LinearState:
    """S and z of no key, in the shapes of this memory."""
    *leading, _, features = memory.log_features.shape
    wide = jnp.result_type(memory.log_features, memory.value)
    none = jnp.zeros((*leading, features, 1), memory.log_features.dtype)
    values = jnp.zeros((*leading, features, memory.value.shape[-1]), wide)
    return LinearState(values, none, jnp.full_like(none, NO_KEY))


def add_keys(state: LinearState, memory: LinearMemory) -> LinearState:
    """S and z with all keys of a memory. Katharopoulos et al. 2020, eqs. 18 and 19."""
    log_scale = jnp.maximum(state.log_scale, jnp.swapaxes(_largest(memory), -1, -2))
    before = jnp.exp(state.log_scale - log_scale)
    features = jnp.exp(jnp.swapaxes(memory.log_features, -1, -2) - log_scale)
    return LinearState(
        before * state.values + features @ memory.value,
        before * state.keys + features.sum(-1, keepdims=True),
        log_scale,
    )


def read_state(query: Float[Array, "*#B T F"], state: LinearState) -> LinearSums:
    """The sums of queries that see the keys of a state; a query is log phi(q_t).

    Source: Katharopoulos et al. 2020, eqs. 6 and 20.
    """
    features, log_scale = _scaled(query + jnp.swapaxes(state.log_scale, -1, -2))
    return LinearSums(features @ state.values, features @ state.keys, log_scale)


def read_keys(query: Float[Array, "*#B T F"], memory: LinearMemory) -> LinearSums:
    """The sums of queries, log phi(q_t), that see all of a few keys, by their products."""
    largest = _largest(memory)
    features, log_scale = _scaled(query + largest)
    products = features @ jnp.swapaxes(jnp.exp(memory.log_features - largest), -1, -2)
    return LinearSums(products @ memory.value, products.sum(-1, keepdims=True), log_scale)


def read_earlier(query: Float[Array, "*#B T F"], memory: LinearMemory) -> LinearSums:
    """The sums of T queries, log phi(q_t), each of the keys up to its own; T is a power of 2.

    A block of queries sees all keys of the blocks before it, each feature at the scale of these
    keys; each block by itself is the same problem.
    """
    *leading, length, _ = query.shape
    if length == 1:
        return read_keys(query, memory)
    count = min(BLOCKS, length)
    size = length // count

    def blocks(x: jax.Array) -> jax.Array:
        return x.reshape(*leading, count, size, x.shape[-1])

    def alone(x: jax.Array) -> jax.Array:
        return x.reshape(-1, size, x.shape[-1])

    own = read_earlier(alone(query), LinearMemory(*map(alone, memory)))
    before = jnp.arange(length)[None] < size * jnp.arange(count)[:, None]
    every = LinearMemory(*(x[..., None, :, :] for x in memory))
    sums = LinearSums(*map(blocks, own)).plus(read_keys(blocks(query), _hide(every, before)))
    return LinearSums(*(x.reshape(*leading, length, x.shape[-1]) for x in sums))


def read_allowed(
    query: Float[Array, "*#B T F"], memory: LinearMemory, allowed: jax.Array
) -> Contexts:
    """The context of queries, log phi(q_t), that each see other keys, one after the other."""

    @jax.checkpoint
    def read(row: tuple[jax.Array, jax.Array]) -> jax.Array:
        query, allowed = row
        return read_keys(query[..., None, :], _hide(memory, allowed)).context()[..., 0, :]

    context = jax.lax.map(read, (jnp.moveaxis(query, -2, 0), jnp.moveaxis(allowed, -2, 0)))
    return jnp.moveaxis(context, 0, -2)


def causal_linear(query: Float[Array, "*#B T F"], memory: LinearMemory) -> Contexts:
    """Causal linear attention: the context of T queries, each of the keys up to its own.

    A state for every query would take T F V numbers. Here one is kept for each chunk of C queries,
    T F V / C, and within a chunk the products [C, C] of queries and keys. The queries are log
    phi(q_t); the memory has as many keys.

    Source: Katharopoulos et al. 2020, eqs. 10 to 12; the chunks are ours.
    """
    length = query.shape[-2]
    size = min(CHUNK, 1 << (length - 1).bit_length())

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
        context = read_state(query, state).plus(read_earlier(query, memory)).context()
        return add_keys(state, memory), context

    split = LinearMemory(chunks(memory.log_features, -jnp.inf), chunks(memory.value))
    _, context = jax.lax.scan(read, empty_state(memory), (chunks(query), split))
    context = jnp.moveaxis(context, 0, -3)
    return context.reshape(*context.shape[:-3], -1, context.shape[-1])[..., :length, :]


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

    packs = False

    feature_map: FeatureMap = field(default_factory=EluPlusOne)

    def prepare(self, key: Keys, value: Values) -> LinearMemory:
        return LinearMemory(self.feature_map(key), value)

    def start(self, memory: LinearMemory) -> LinearState:
        return empty_state(memory)

    def step(
        self, query: Float[Array, "*#B 1 Q"], memory: LinearMemory, state: LinearState
    ) -> tuple[jax.Array, LinearState]:
        state = add_keys(state, memory)
        context = read_state(self.feature_map(query), state).context()
        return context.astype(memory.value.dtype), state

    def attend(
        self,
        query: Queries,
        memory: LinearMemory,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool,
    ) -> Contexts:
        dtype, features = memory.value.dtype, self.feature_map(query)
        present, causal = _rules(as_mask(mask, query))
        if present is not None:
            memory = _hide(memory, present)
        if not causal:
            context = read_state(features, add_keys(empty_state(memory), memory)).context()
        elif all(x is None for x in positions) and query.shape[-2] == memory.value.shape[-2]:
            context = causal_linear(features, memory)
        else:
            allowed = Causal().dense(positions.filled(query, memory.value))
            shape = (*query.shape[:-1], memory.value.shape[-2])
            allowed = jnp.broadcast_to(allowed, shape)
            context = read_allowed(features, memory, allowed)
        return context.astype(dtype)


def _scaled(log_features: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Features over their largest, and the logarithm of the largest, [..., T, 1]."""
    log_scale = log_features.max(-1, keepdims=True, initial=NO_KEY)
    log_scale = jax.lax.stop_gradient(log_scale)
    return jnp.exp(log_features - log_scale), log_scale


def _largest(memory: LinearMemory) -> jax.Array:
    """The largest logarithm of each feature, [..., 1, F]; a constant for the gradient."""
    largest = memory.log_features.max(-2, keepdims=True, initial=NO_KEY)
    return jax.lax.stop_gradient(largest)


def _hide(memory: LinearMemory, present: jax.Array) -> LinearMemory:
    """The memory without the keys where booleans [..., S] are False."""
    log_features = jnp.where(present[..., None], memory.log_features, -jnp.inf)
    return memory._replace(log_features=log_features)


def _rules(mask: Mask | None) -> tuple[jax.Array | None, bool]:
    """The keys [..., S] that are not padding (None: all), and whether the mask is causal."""
    rules = () if mask is None else mask.rules()
    for rule in rules:
        if not isinstance(rule, Padding | Causal):
            raise UserError(
                "LinearAttention takes the masks Padding and Causal, which need no weights; got "
                f"{type(rule).__name__}: use Attention"
            )
    present = [rule.present for rule in rules if isinstance(rule, Padding)]
    return reduce(and_, present) if present else None, any(isinstance(r, Causal) for r in rules)
