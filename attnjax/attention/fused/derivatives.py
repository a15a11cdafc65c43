"""Every derivative of blockwise attention.

Its gradient is computed tile by tile. Forward-mode derivatives, and those of a gradient, are those
of the same function by its [T, S] weights.
"""

from functools import partial, reduce
from operator import and_
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.attention.align.base import softmax
from attnjax.attention.align.open import softmax_with_sink
from attnjax.attention.fused import tiles
from attnjax.attention.fused.tiles import AllowedPairs, Arrays, TilePlan
from attnjax.nn.dtypes import widen
from attnjax.nn.linear_map import linear_map
from attnjax.nn.product import product


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def attend(plan: TilePlan, arrays: Arrays, pairs: AllowedPairs) -> jax.Array:
    """Return the context [N, T, V]."""
    return tiles.contexts(plan, arrays, pairs)[0]


@attend.defjvp
def _attend_rule(plan: TilePlan, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    arrays, pairs = primals
    context, level = _contexts(plan, arrays, pairs)
    given = arrays, pairs, *jax.lax.stop_gradient((context, level))

    def forward(given: Any, change: Arrays) -> jax.Array:
        arrays, pairs, *_ = given
        return jax.jvp(partial(_dense, plan, pairs), (arrays,), (change,))[1]

    def backward(given: Any, slope: jax.Array) -> Arrays:
        return _slopes(plan, *given, slope)

    return context, linear_map(forward, backward, context, given, tangents[0])


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _contexts(plan: TilePlan, arrays: Arrays, pairs: AllowedPairs) -> tuple[jax.Array, jax.Array]:
    """Return the context, and log sum exp of each row of logits, a constant for derivatives."""
    return tiles.contexts(plan, arrays, pairs)


@_contexts.defjvp
def _contexts_rule(plan: TilePlan, primals: Any, tangents: Any) -> tuple[Any, Any]:
    arrays, pairs = primals
    context, level = tiles.contexts(plan, arrays, pairs)
    _, change = jax.jvp(partial(_dense, plan, pairs), (arrays,), (tangents[0],))
    return (context, level), (change, jnp.zeros_like(level))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _slopes(plan: TilePlan, *given: Any) -> Arrays:
    """Return the gradients of the arrays.

    Given are arrays, pairs, context, level, and the context's slope.
    """
    return tiles.slopes(plan, *given)


@_slopes.defjvp
def _slopes_rule(plan: TilePlan, primals: Any, tangents: Any) -> tuple[Arrays, Arrays]:
    arrays, pairs, _, _, slope = primals

    def dense_slopes(arrays: Arrays, slope: jax.Array) -> Arrays:
        _, pull = jax.vjp(partial(_dense, plan, pairs), arrays)
        return pull(slope)[0]

    _, changes = jax.jvp(dense_slopes, (arrays, slope), (tangents[0], tangents[-1]))
    return tiles.slopes(plan, *primals), changes


def _dense(plan: TilePlan, pairs: AllowedPairs, arrays: Arrays) -> jax.Array:
    """Compute the context by way of the weights."""
    query, key, value, bias, sink = jax.tree.map(widen, arrays)
    query = plan.scale * query
    logits = product("tk,sk->ts", query, key)
    if bias is not None:
        logits += bias.of_pairs(query, pairs.positions, logits.shape)
    logits = plan.bounded(logits)
    allowed = [rule.dense(pairs.positions) for rule in pairs.rules]
    mask = jnp.broadcast_to(reduce(and_, allowed), logits.shape) if allowed else None
    weights = softmax(logits, mask) if sink is None else softmax_with_sink(logits, mask, sink)
    return product("ts,sv->tv", weights, value).astype(arrays.value.dtype)
