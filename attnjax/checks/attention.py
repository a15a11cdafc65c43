"""The properties of an attention, tried with small random inputs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.attention.attention import AttentionBase
from attnjax.attention.fused import FUSED_FROM
from attnjax.attention.mask import Causal, Padding
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
    inputs = tuple(jax.random.normal(key, (B, S, K)) for key in jax.random.split(_key(), 3))
    try:
        variables = jax.jit(partial(attention.init, deterministic=True))(_key(), *inputs)
    except Exception as error:  # the part is a user's: whatever it raises is what is found
        return [raised("can be called", error)]
    call: Any = jax.jit(partial(attention.apply, deterministic=True))
    properties: dict[str, Callable[[], str | None]] = {
        "masked rows give zero": partial(_masked_rows, call, variables, inputs),
        "causal": partial(_causal, call, variables, inputs),
        "a mask equals a subset": partial(_subset, call, variables, inputs),
        "one query at a time equals all": partial(
            _one_at_a_time, attention, call, variables, inputs
        ),
        "the same context if the weights are requested": partial(
            _requested, attention, call, variables
        ),
        "finite in half precision": partial(_half_precision, call, variables, inputs),
    }
    return [tried(name, problem) for name, problem in properties.items()]


def _key() -> jax.Array:
    return jax.random.key(0)


def _masked_rows(call: Any, variables: Any, inputs: Any) -> str | None:
    mask = Padding(jnp.broadcast_to(jnp.arange(S) < HIDDEN_FROM, (B, S))) & Causal()
    # no key stands before position -1
    before_all = Positions(query=jnp.broadcast_to(jnp.arange(S).at[EMPTY_ROW].set(-1), (B, S)))

    def total(inputs: Any) -> tuple[jax.Array, jax.Array]:
        context = call(variables, *inputs, mask, positions=before_all)
        return context.sum(), context

    (query, key, value), context = jax.grad(total, has_aux=True)(inputs)
    return (
        not_zero("the context of a query that may attend to nothing", context[:, EMPTY_ROW])
        or not_zero("the gradient of a query that may attend to nothing", query[:, EMPTY_ROW])
        or not_zero("the gradient of a hidden key", key[:, HIDDEN_FROM:])
        or not_zero("the gradient of a hidden value", value[:, HIDDEN_FROM:])
    )


def _causal(call: Any, variables: Any, inputs: Any) -> str | None:
    def of_one_query(inputs: Any) -> jax.Array:
        return call(variables, *inputs, Causal())[:, QUERY].sum()

    _, key, value = jax.grad(of_one_query)(inputs)
    return not_zero("the gradient of a later key", key[:, QUERY + 1 :]) or not_zero(
        "the gradient of a later value", value[:, QUERY + 1 :]
    )


def _subset(call: Any, variables: Any, inputs: Any) -> str | None:
    query, key, value = inputs
    present = jnp.broadcast_to(jnp.arange(S) < HIDDEN_FROM, (B, S))
    masked = call(variables, *inputs, Padding(present))
    left = query, key[:, :HIDDEN_FROM], value[:, :HIDDEN_FROM]
    return not_equal("the context", masked, call(variables, *left))


def _one_at_a_time(attention: AttentionBase, call: Any, variables: Any, inputs: Any) -> str | None:
    query, key, value = inputs
    together = call(variables, *inputs, Causal())
    single = []
    for place in range(S):
        at = Positions(query=jnp.full((B, 1), place))
        single.append(
            call(variables, query[:, place : place + 1], key, value, Causal(), positions=at)
        )
    return not_equal("the context", together, jnp.concatenate(single, axis=1)) or _stepped(
        attention, variables, inputs, together
    )


def _stepped(
    attention: AttentionBase, variables: Any, inputs: Any, together: jax.Array
) -> str | None:
    query, key, value = (jnp.split(x, S, axis=1) for x in inputs)

    @jax.jit
    def step(state: Any, query: Any, key: Any, value: Any) -> Any:
        call: Any = partial(attention.apply, variables)
        memory = call(key, value, method="prepare")
        if state is None:
            state = call(memory, method="start")
        return None if state is None else call(query, memory, state, method="step")

    state, context = None, []
    for word in zip(query, key, value, strict=True):
        found = step(state, *word)
        if found is None:
            return None
        context.append(found[0])
        state = found[1]
    return not_equal("the context by step", together, jnp.concatenate(context, axis=1))


def _requested(attention: AttentionBase, call: Any, variables: Any) -> str | None:
    long = min(FUSED_FROM.values())
    inputs = tuple(jax.random.normal(key, (1, long, K)) for key in jax.random.split(_key(), 3))
    context = call(variables, *inputs, Causal())
    sowing = jax.jit(partial(attention.apply, deterministic=True, mutable=["attention"]))
    requested, _ = sowing(variables, *inputs, Causal())
    return not_equal("the context", context, requested)


def _half_precision(call: Any, variables: Any, inputs: Any) -> str | None:
    for dtype in (jnp.bfloat16, jnp.float16):
        # the product of a query and a key passes the range of float16, 65,504
        query, key, value = (array.astype(dtype) for array in inputs)
        narrow = jax.tree.map(lambda leaf, dtype=dtype: leaf.astype(dtype), variables)
        context = call(narrow, query * 300, key * 300, value, Causal())
        if problem := not_finite(f"the context in {jnp.dtype(dtype).name}", context):
            return problem
    return None
