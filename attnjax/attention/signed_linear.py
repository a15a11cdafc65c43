"""Linear attention with features of any sign: two sums of a recurrence that forgets nothing.

    context[t] = phi(q_t) S / (phi(q_t) . z)

S and z are one state: the values have one more feature, 1, that z adds up.
"""

import jax
import jax.numpy as jnp

from attnjax.attention.recurrence import (
    Words,
    causal_contexts,
    final_state,
    hide_words,
    write_word,
)
from attnjax.nn.dtypes import wide


def signed_memory(features: jax.Array, value: jax.Array) -> Words:
    """Return what keys write, from their features phi(k_s), [..., S, F], and values [..., S, V]."""
    one = jnp.ones_like(features[..., :1])
    ones = jnp.broadcast_to(one, (*value.shape[:-1], 1)).astype(value.dtype)
    return Words(features, jnp.concatenate([value, ones], -1), jnp.zeros_like(one), one)


def signed_contexts(
    query: jax.Array,
    memory: Words,
    allowed: jax.Array | None,
    *,
    causal: bool,
    least: float,
) -> jax.Array:
    """Return the context of queries phi(q_t), [..., T, F].

    `allowed` are the keys [..., T, S] that each may see; None: all, or, if `causal`, those up to
    its own. `least` is the least phi(q) . phi(k).
    """
    if allowed is not None:
        return divided(_read_allowed(query, memory, allowed), least)
    if causal:
        return divided(causal_contexts(query, memory, delta_rule=False), least)
    return divided(query @ final_state(memory, delta_rule=False), least)


def signed_step(
    query: jax.Array, memory: Words, state: jax.Array, least: float
) -> tuple[jax.Array, jax.Array]:
    """Return the context of a query that sees the keys so far and its own, and the next state."""
    state = write_word(state, memory, delta_rule=False)
    return divided(query @ state, least), state


def divided(sums: jax.Array, least: float) -> jax.Array:
    """Divide by the last feature, the sum of a query's weights; 0 if the query sees no key.

    The other features may cancel and leave of it what rounding adds, so that it is kept at the
    `least` that a key's weight can be.
    """
    total = sums[..., -1:]
    return sums[..., :-1] / jnp.where(total == 0, 1, jnp.maximum(total, least))


def _read_allowed(query: jax.Array, memory: Words, allowed: jax.Array) -> jax.Array:
    """Return the sums of queries that each see other keys, one query after the other."""
    value = memory.value.astype(wide(memory.value))

    @jax.checkpoint
    def read(row: tuple[jax.Array, jax.Array]) -> jax.Array:
        query, allowed = row
        key = hide_words(memory, allowed).key
        return ((query[..., None, :] @ jnp.swapaxes(key, -1, -2)) @ value)[..., 0, :]

    sums = jax.lax.map(read, (jnp.moveaxis(query, -2, 0), jnp.moveaxis(allowed, -2, 0)))
    return jnp.moveaxis(sums, 0, -2)
