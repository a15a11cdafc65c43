"""The properties of an attention, tried with small random inputs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.attention.attention import AttentionBase
from attnjax.attention.fused import FUSED_FROM
from attnjax.attention.mask import Causal, Mask, Padding
from attnjax.attention.position import Positions
from attnjax.checks.finding import Finding, not_equal, not_finite, not_zero, raised, tried

B, S, K = 2, 5, 4
HIDDEN_FROM, EMPTY_ROW, QUERY = 3, 3, 1


def check_attention(attention: AttentionBase) -> list[Finding]:
    """Try on an attention what every attention of attnjax has.

    - A query that may attend to nothing has context 0; no gradient flows to it, nor to a key or
      value that no query may attend to.
    - Under `Causal`, no gradient flows to later keys and values.
    - A mask that hides keys gives the same context as leaving the keys out.
    - Queries one at a time, at their positions, have the same context as all together; so have
      words one at a time by `start` and `step`, if the attention has them.
    - The context of long sequences is the same if the weights are requested: what a score says of
      itself as a dot product is what it computes.
    - In bfloat16 and float16 the context is finite, also for logits beyond float16.

    Args:
        attention: an attention for queries, keys and values of width 4, such as
            `Attention(score=MyScore())`.
    """
    properties: dict[str, Callable[[AttentionBase, Any, Any], str | None]] = {
        "masked rows give zero": _masked_rows,
        "causal": _causal,
        "a mask equals a subset": _subset,
        "one query at a time equals all": _one_at_a_time,
        "the same context if the weights are requested": _requested,
        "finite in half precision": _half_precision,
    }
    inputs = tuple(jax.random.normal(key, (B, S, K)) for key in jax.random.split(_key(), 3))
    try:
        variables = attention.init(_key(), *inputs, deterministic=True)
    except Exception as error:  # the part is a user's: whatever it raises is what is found
        return [raised("can be called", error)]
    return [
        tried(name, partial(problem, attention, variables, inputs))
        for name, problem in properties.items()
    ]


def _key() -> jax.Array:
    return jax.random.key(0)


def _context(
    attention: AttentionBase,
    variables: Any,
    inputs: Any,
    mask: Mask | None,
    positions: Positions = Positions(),
) -> jax.Array:
    context: Any = attention.apply(
        variables, *inputs, mask, positions=positions, deterministic=True
    )
    return context


def _masked_rows(attention: AttentionBase, variables: Any, inputs: Any) -> str | None:
    mask = Padding(jnp.broadcast_to(jnp.arange(S) < HIDDEN_FROM, (B, S))) & Causal()
    # no key stands before position -1
    before_all = Positions(query=jnp.broadcast_to(jnp.arange(S).at[EMPTY_ROW].set(-1), (B, S)))
    context = _context(attention, variables, inputs, mask, before_all)

    def total(inputs: Any) -> jax.Array:
        return _context(attention, variables, inputs, mask, before_all).sum()

    query, key, value = jax.grad(total)(inputs)
    return (
        not_zero("the context of a query that may attend to nothing", context[:, EMPTY_ROW])
        or not_zero("the gradient of a query that may attend to nothing", query[:, EMPTY_ROW])
        or not_zero("the gradient of a hidden key", key[:, HIDDEN_FROM:])
        or not_zero("the gradient of a hidden value", value[:, HIDDEN_FROM:])
    )


def _causal(attention: AttentionBase, variables: Any, inputs: Any) -> str | None:
    def of_one_query(inputs: Any) -> jax.Array:
        return _context(attention, variables, inputs, Causal())[:, QUERY].sum()

    _, key, value = jax.grad(of_one_query)(inputs)
    return not_zero("the gradient of a later key", key[:, QUERY + 1 :]) or not_zero(
        "the gradient of a later value", value[:, QUERY + 1 :]
    )


def _subset(attention: AttentionBase, variables: Any, inputs: Any) -> str | None:
    query, key, value = inputs
    present = jnp.broadcast_to(jnp.arange(S) < HIDDEN_FROM, (B, S))
    masked = _context(attention, variables, inputs, Padding(present))
    left = query, key[:, :HIDDEN_FROM], value[:, :HIDDEN_FROM]
    return not_equal("the context", masked, _context(attention, variables, left, None))


def _one_at_a_time(attention: AttentionBase, variables: Any, inputs: Any) -> str | None:
    query, key, value = inputs
    together = _context(attention, variables, inputs, Causal())
    single: list[Any] = [
        attention.apply(
            variables,
            query[:, place : place + 1],
            key,
            value,
            Causal(),
            positions=Positions(query=jnp.full((B, 1), place)),
            deterministic=True,
        )
        for place in range(S)
    ]
    return not_equal("the context", together, jnp.concatenate(single, axis=1)) or _stepped(
        attention, variables, inputs, together
    )


def _stepped(
    attention: AttentionBase, variables: Any, inputs: Any, together: jax.Array
) -> str | None:
    query, key, value = (jnp.split(x, S, axis=1) for x in inputs)
    call: Any = partial(attention.apply, variables)
    state = call(call(key[0], value[0], method="prepare"), method="start")
    if state is None:
        return None
    context = []
    for word in zip(query, key, value, strict=True):
        memory = call(*word[1:], method="prepare")
        found, state = call(word[0], memory, state, method="step")
        context.append(found)
    return not_equal("the context by step", together, jnp.concatenate(context, axis=1))


def _requested(attention: AttentionBase, variables: Any, inputs: Any) -> str | None:
    long = min(FUSED_FROM.values())
    inputs = tuple(jax.random.normal(key, (1, long, K)) for key in jax.random.split(_key(), 3))
    context = _context(attention, variables, inputs, Causal())
    requested, _ = attention.apply(
        variables, *inputs, Causal(), deterministic=True, mutable=["attention"]
    )
    return not_equal("the context", context, requested)


def _half_precision(attention: AttentionBase, variables: Any, inputs: Any) -> str | None:
    for dtype in (jnp.bfloat16, jnp.float16):
        # the product of a query and a key passes the range of float16, 65,504
        query, key, value = (array.astype(dtype) for array in inputs)
        narrow = jax.tree.map(lambda leaf, dtype=dtype: leaf.astype(dtype), variables)
        large = query * 300, key * 300, value
        context = _context(attention, narrow, large, Causal())
        if problem := not_finite(f"the context in {jnp.dtype(dtype).name}", context):
            return problem
    return None
