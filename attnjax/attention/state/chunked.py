"""Recurrences with decay, with or without a delta rule: the definition, and the same in chunks.

    D_t = diag(a_t) S_{t-1}                    the state before a word, decayed
    S_t = D_t + k_t u_t^T                      and with the word written to it
    u_t = b_t v_t                              added up, or
    u_t = b_t (v_t - D_t^T k_t)                by the delta rule: the value at k_t moves towards v_t
    context[t] = S_t^T q_t

A state is [K, V]. A decay a_t is a number from 0 to 1 for the word or for each of its K features;
a strength b_t is a number. Nothing is divided by a sum of weights, and features have any sign.
Where a word restarts, the state before it is 0.

Word by word the T updates follow each other. In chunks of C words the states between chunks alone
do, T / C of them; all else is products of matrices. Within a chunk the delta rule's values

    u_t + b_t sum over s < t of (k_t . a_{s+1} ... a_t k_s) u_s = b_t (v_t - (decayed state)^T k_t)

are a linear system, lower triangular. It is solved for the values that words write and for what
they erase of any state, by products with the inverse.

Products have JAX's default precision: on a TPU operands in float32 are rounded to bfloat16, on a
GPU to TF32, those of the inverse too. `jax.default_matmul_precision("highest")` around a program
asks for float32.

Source: Sun et al. 2023, section 2.1 (one decay); Yang et al. 2024a, section 4 (a decay for each
feature, chunks in log space); Dao and Gu 2024, section 6 (chunks); Yang et al. 2024b, section 3
(the delta rule in chunks); Yang et al. 2025, section 3 (both).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from attnjax.attention.shapes import Contexts, Queries
from attnjax.nn.axes import known_length, varying_as
from attnjax.nn.dtypes import wide

CHUNK = 64
"""The number of words C of a chunk, a power of 2."""

BLOCK = 8
"""The products of all pairs of this many words are computed feature by feature, and triangular
blocks of this many numbers inverted row by row."""

SHUT = -60.0
"""A log-decay below which a word restarts the state, exp(-60) = 1e-26: differences of sums of
log-decays stay precise. A decay of a single feature is at least exp(SHUT)."""

State = Float[Array, "*B K V"]


class Words(NamedTuple):
    """What words write to a state.

    Attributes:
        key: [..., S, K].
        value: [..., S, V].
        log_decay: log a_t, at most 0; [..., S, 1], or [..., S, K]: a decay for each feature.
        strength: b_t, [..., S, 1].
    """

    key: jax.Array
    value: jax.Array
    log_decay: jax.Array
    strength: jax.Array


def empty_state(words: Words) -> State:
    """Return the state before the first word, 0, in the shapes of these words."""
    *leading, _, width = words.key.shape
    return jnp.zeros((*leading, width, words.value.shape[-1]), wide(words.key, words.value))


def write_word(state: State, word: Words, *, delta_rule: bool) -> State:
    """Return the state after one word, whose arrays are [..., 1, any]: the recurrence itself."""
    key = jnp.swapaxes(word.key, -1, -2)
    decayed = jnp.exp(jnp.swapaxes(word.log_decay, -1, -2)) * state
    new = word.value - word.key @ decayed if delta_rule else word.value
    return decayed + key @ (word.strength * new)


def hide_words(words: Words, present: Bool[Array, "*B S"]) -> Words:
    """Return the words, of which those that are not `present` leave the state as it is."""
    return Words(*(jnp.where(present[..., None], numbers, 0) for numbers in words))


def final_state(words: Words, *, delta_rule: bool) -> State:
    """Return the state after all words."""
    return _in_chunks(words.key, words, None, delta_rule=delta_rule)[1]


def causal_contexts(
    query: Queries,
    words: Words,
    restarts: Bool[Array, "*B S"] | None = None,
    *,
    delta_rule: bool,
) -> Contexts:
    """Return the context of each of S queries, which sees the words up to its own.

    Where `restarts` is True, a word is the first of a sentence that shares the row with others.
    """
    return _in_chunks(query, words, restarts, delta_rule=delta_rule)[0]


def _in_chunks(
    query: jax.Array, words: Words, restarts: jax.Array | None, *, delta_rule: bool
) -> tuple[jax.Array, jax.Array]:
    """Return the contexts and the final state."""
    length = known_length(query.shape[-2], "a recurrence in chunks")
    size = min(CHUNK, 1 << (length - 1).bit_length())
    chunks = partial(_split, size=size, number=max(1, -(-length // size)))
    if restarts is None:
        restarts = jnp.zeros(words.key.shape[:-1], bool)
    log_decay = words.log_decay
    if log_decay.shape[-1] == 1:
        shut = log_decay[..., 0] < SHUT
        restarts, log_decay = restarts | shut, jnp.where(shut[..., None], 0, log_decay)
    query, key, value, strength = map(chunks, (query, words.key, words.value, words.strength))
    log_decay = jnp.cumsum(chunks(jnp.maximum(log_decay, SHUT)), axis=-2)
    # the number of restarts in the chunk: pairs of words meet if they have the same
    part = jnp.cumsum(chunks(restarts[..., None]).astype(jnp.int32), axis=-2)
    meet = jnp.tril(part == jnp.swapaxes(part, -1, -2))
    last = part[..., -1:, :]
    # what the state before the chunk is multiplied by on its way to a word, and to the next chunk
    arriving = jnp.where(part == 0, jnp.exp(log_decay), 0)
    to_end = jnp.where(part == last, jnp.exp(log_decay[..., -1:, :] - log_decay), 0)
    over = jnp.swapaxes(jnp.where(last == 0, jnp.exp(log_decay[..., -1:, :]), 0), -1, -2)

    products = partial(decayed_products, log_decay=log_decay, meet=meet)
    written = strength * value
    erased = None
    if delta_rule:
        system = strength * jnp.tril(products(key, key), -1)
        written, erased = solve_unit_lower(system, (written, strength * arriving * key))
    kept = to_end * key

    def next_chunk(state: jax.Array, chunk: tuple) -> tuple[jax.Array, tuple]:
        over, kept, written, erased = chunk
        if erased is not None:
            written = written - erased @ state
        return over * state + jnp.swapaxes(kept, -1, -2) @ written, (state, written)

    empty = jnp.zeros((*key.shape[1:-2], key.shape[-1], value.shape[-1]), written.dtype)
    chunks = over, kept, written, erased
    state, (before, written) = jax.lax.scan(next_chunk, varying_as(empty, chunks), chunks)
    context = (arriving * query) @ before + products(query, key) @ written
    context = jnp.moveaxis(context, 0, -3)
    steps = size * context.shape[-3]
    context = context.reshape(*context.shape[:-3], steps, context.shape[-1])
    return context[..., :length, :], state


def _split(x: jax.Array, *, size: int, number: int) -> jax.Array:
    """[..., T, any] -> [N, ..., C, any], padded with 0, in float32 or wider if x is numbers."""
    behind = number * size - x.shape[-2]
    x = jnp.pad(x, [*[(0, 0)] * (x.ndim - 2), (0, behind), (0, 0)])
    x = jnp.moveaxis(x.reshape(*x.shape[:-2], number, size, x.shape[-1]), -3, 0)
    return x if x.dtype == bool else x.astype(wide(x))


def decayed_products(
    query: Float[Array, "*B C K"],
    key: Float[Array, "*B C K"],
    log_decay: Float[Array, "*B C _"],
    meet: Bool[Array, "*B C C"],
) -> Float[Array, "*B C C"]:
    """Return sum over i of q_ti k_si exp(d_ti - d_si) for pairs that `meet`, and 0 for others.

    No pair with s > t meets. d are sums of log-decays, [..., C, 1] or [..., C, K]; C is a power of
    2. No exponent is above 0: where the later half of the queries meets the keys of the earlier
    half, see `by_halves`, the decay is that from each key to the half's last word and from there to
    each query.

    Source: Yang et al. 2024a, section 4.3, there by blocks of one size.
    """
    if log_decay.shape[-1] == 1:
        exponent = log_decay - jnp.swapaxes(log_decay, -1, -2)
        decay = jnp.exp(jnp.where(meet, exponent, -jnp.inf))
        return (query @ jnp.swapaxes(key, -1, -2)) * decay
    return jnp.where(meet, _products_by_feature(query, key, log_decay), 0)


def _products_by_feature(query: jax.Array, key: jax.Array, log_decay: jax.Array) -> jax.Array:
    """Return `decayed_products` of all pairs s <= t, with a decay for each feature."""

    def pairs(query: jax.Array, key: jax.Array, log_decay: jax.Array) -> jax.Array:
        exponent = log_decay[..., :, None, :] - log_decay[..., None, :, :]
        lower = _lower(exponent[..., 0])[..., None]
        decay = jnp.exp(jnp.where(lower, exponent, -jnp.inf))
        return (query[..., :, None, :] * key[..., None, :, :] * decay).sum(-1)

    def across(later: Sequence[jax.Array], earlier: Sequence[jax.Array]) -> jax.Array:
        (query, _, log_decay), (_, key, before) = later, earlier
        middle = before[..., -1:, :]
        query, key = query * jnp.exp(log_decay - middle), key * jnp.exp(middle - before)
        return query @ jnp.swapaxes(key, -1, -2)

    return by_halves((query, key, log_decay), pairs, across)


def by_halves(
    words: Sequence[jax.Array],
    pairs: Callable[..., jax.Array],
    across: Callable[[Sequence[jax.Array], Sequence[jax.Array]], jax.Array],
) -> Float[Array, "*B C C"]:
    """Return numbers of all pairs s <= t of C words, and 0 for the others.

    The words are arrays [..., C, any]; C is a power of 2. The later half of them meets the earlier
    half in one product, across(later, earlier); each half by itself is the same problem, down to
    pairs(*words) of BLOCK words.
    """
    *leading, size, _ = words[0].shape
    if size <= BLOCK:
        return pairs(*words)
    halves = [x.reshape(*leading, 2, size // 2, x.shape[-1]) for x in words]
    own = by_halves(halves, pairs, across)
    earlier, later = ([x[..., half, :, :] for x in halves] for half in (0, 1))
    corner = across(later, earlier)
    return jnp.block([[own[..., 0, :, :], jnp.zeros_like(corner)], [corner, own[..., 1, :, :]]])


def _lower(square: jax.Array) -> jax.Array:
    """Return booleans in the shape of [..., C, C], True on and below the diagonal."""
    return jnp.tril(jnp.ones_like(square, bool))


def solve_unit_lower[T](strict: Float[Array, "*B C C"], right: T) -> T:
    """Return (I + A)^-1 R of a strictly lower triangular A, for a tree of R, [..., C, any].

    The inverse has no gradient of its own: those of the solution are solutions of such systems,
    two products for each one.
    """
    inverse = invert_unit_lower(jax.lax.stop_gradient(strict))

    def multiply(solution: T) -> T:
        return jax.tree.map(lambda x: x + strict @ x, solution)

    def solve(_: Any, right: T) -> T:
        return jax.tree.map(lambda x: inverse @ x, right)

    def solve_transposed(_: Any, right: T) -> T:
        return jax.tree.map(lambda x: jnp.swapaxes(inverse, -1, -2) @ x, right)

    return jax.lax.custom_linear_solve(multiply, right, solve, solve_transposed)


def invert_unit_lower(strict: Float[Array, "*B C C"]) -> Float[Array, "*B C C"]:
    """Return (I + A)^-1 of a strictly lower triangular A; C is a power of 2.

    Blocks of BLOCK numbers on the diagonal are inverted row by row, all of them at once; then

        [[X, 0], [Y, Z]]^-1 = [[X^-1, 0], [-Z^-1 Y X^-1, Z^-1]]

    for the blocks of each size at once, as products of matrices.
    """
    *leading, size, _ = strict.shape
    width = min(BLOCK, size)
    diagonal = jnp.stack(
        [strict[..., n : n + width, n : n + width] for n in range(0, size, width)], axis=-3
    )
    unit = jnp.eye(width, dtype=strict.dtype)
    inverse = jnp.broadcast_to(unit[:1], (*diagonal.shape[:-2], 1, width))
    for row in range(1, width):
        earlier = (diagonal[..., row, :row, None] * inverse).sum(-2, keepdims=True)
        new = jnp.broadcast_to(unit[row : row + 1], earlier.shape) - earlier
        inverse = jnp.concatenate([inverse, new], axis=-2)
    while width < size:
        number = size // (2 * width)
        first, second = (inverse[..., i::2, :, :] for i in (0, 1))
        blocks = strict.reshape(*leading, number, 2, width, number, 2, width)
        below = jnp.stack([blocks[..., n, 1, :, n, 0, :] for n in range(number)], axis=-3)
        corner = -(second @ below @ first)
        inverse = jnp.block([[first, jnp.zeros_like(first)], [corner, second]])
        width *= 2
    return inverse[..., 0, :, :]
