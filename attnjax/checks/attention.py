"""The properties of an attention, tried with small random inputs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.attention.align import Align, AlignContext
from attnjax.attention.attention import AttentionBase
from attnjax.attention.fused import FUSED_FROM
from attnjax.attention.kernel_score import Kernel
from attnjax.attention.mask import Causal, Mask, Padding
from attnjax.attention.pool import Pool
from attnjax.attention.position import Positions
from attnjax.checks.finding import (
    Finding,
    not_alike,
    not_equal,
    not_finite,
    not_zero,
    raised,
    tried,
)
from attnjax.config.walk import walk

B, S, K = 2, 5, 4
LONG = min(FUSED_FROM.values())
"""The number of queries and keys from which a fused kernel is used."""

MANY = 2048
"""A number of keys to which bfloat16 cannot count, nor add up their equal shares."""

FAR = 400.0
"""The standard deviation of queries and keys that fit each other badly."""

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
    - Of many keys the context in bfloat16 is that in float32. So are the sums of the weights of its
      aligns, given logits in bfloat16, and the contexts of its pools.
    - Queries that fit every key badly have finite gradients, and attend: unless the score is a
      kernel, which may be 0, their context is not.
    - The masks in its fields are pytrees, so that a program can take them as arguments.

    The attention is for queries, keys and values of width 4, such as `Attention(score=MyScore())`.
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
        "many keys in half precision": partial(_many_keys, attention, call, variables),
        "queries that fit badly attend": partial(_fitting_badly, attention, call, variables),
    }
    if masks := _parts(attention, Mask):
        properties["masks are pytrees"] = partial(_pytrees, masks)
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
        after = step(state, *word)
        if after is None:
            return None
        context.append(after[0])
        state = after[1]
    return not_equal("the context by step", together, jnp.concatenate(context, axis=1))


def _requested(attention: AttentionBase, call: Any, variables: Any) -> str | None:
    inputs = tuple(jax.random.normal(key, (1, LONG, K)) for key in jax.random.split(_key(), 3))
    context = call(variables, *inputs, Causal())
    sowing = jax.jit(partial(attention.apply, deterministic=True, mutable=["attention"]))
    requested, _ = sowing(variables, *inputs, Causal())
    return not_equal("the context", context, requested)


def _half_precision(call: Any, variables: Any, inputs: Any) -> str | None:
    for dtype in (jnp.bfloat16, jnp.float16):
        # the product of a query and a key passes the range of float16, 65,504
        query, key, value = (array.astype(dtype) for array in inputs)
        narrow = _cast(variables, dtype)
        context = call(narrow, query * 300, key * 300, value, Causal())
        if problem := not_finite(f"the context in {jnp.dtype(dtype).name}", context):
            return problem
    return None


def _many_keys(attention: AttentionBase, call: Any, variables: Any) -> str | None:
    """Values are equal, so that it does not matter which of nearly equal keys is preferred."""
    query, key = (
        jax.random.normal(key, (1, length, K)) / 3
        for key, length in zip(jax.random.split(_key()), (S, LONG), strict=True)
    )
    narrow = _cast((variables, query, key, jnp.ones_like(key)), jnp.bfloat16)
    contexts = [call(*_cast(narrow, dtype)) for dtype in (jnp.bfloat16, jnp.float32)]
    if problem := not_alike("the context in bfloat16", *contexts):
        return problem
    for part in _parts(attention, Align | Pool):
        narrow, wide = (_of_many(part, query, dtype) for dtype in (jnp.bfloat16, jnp.float32))
        what = "the sum of the weights" if isinstance(part, Align) else "the context"
        if problem := not_alike(f"{what} of {type(part).__name__} in bfloat16", narrow, wide):
            return problem
    return None


def _of_many(part: Align | Pool, query: jax.Array, dtype: Any) -> jax.Array:
    """The sums of an align's weights, or a pool's context, of numbers in bfloat16 and a dtype."""

    def given(numbers: jax.Array) -> jax.Array:
        return numbers.astype(jnp.bfloat16).astype(dtype)

    at = Positions(jnp.full((1, S), MANY), jnp.arange(MANY)[None])
    if isinstance(part, Align):
        # a kernel is not negative
        logits = given(10 * jnp.abs(jax.random.normal(_key(), (1, S, MANY))))
        weights, _ = part.init_with_output(_key(), logits, None, AlignContext(query, at))
        return weights.astype(jnp.float32).sum(-1)
    weights, value = given(jnp.full((1, S, MANY), 1 / MANY)), given(jnp.ones((1, MANY, K)))
    context, _ = part.init_with_output(_key(), weights, value, at)
    return context.astype(jnp.float32)


def _fitting_badly(attention: AttentionBase, call: Any, variables: Any) -> str | None:
    query, key, value = (
        jax.random.normal(key, (1, LONG, K)) for key in jax.random.split(_key(), 3)
    )

    def total(inputs: Any) -> tuple[jax.Array, jax.Array]:
        context = call(variables, *inputs, Causal())
        return context.sum(), context

    slopes, context = jax.grad(total, has_aux=True)((FAR * query, FAR * key, value))
    problem = not_finite("the context of a query that fits every key badly", context)
    problem = problem or not_finite("the gradient of a query that fits every key badly", slopes)
    if problem or _parts(attention, Kernel):
        return problem
    lost = call(variables, query, key, value, Causal()).any(-1) & ~context.any(-1)
    several = f"{int(lost.sum())} of {LONG} queries that fit every key badly have the context 0"
    return several if lost.any() else None


def _pytrees(masks: list[Any]) -> str | None:
    at = Positions(jnp.arange(S)[None], jnp.arange(S)[None])
    for mask in masks:
        if jax.tree_util.all_leaves([mask]):
            how = "decorate it with jax.tree_util.register_dataclass"
            return f"the mask {type(mask).__name__} is no pytree: {how}"
        allowed = jax.jit(lambda mask: mask.dense(at))(mask)
        if problem := not_equal("what a mask that is an argument allows", allowed, mask.dense(at)):
            return problem
    return None


def _parts(attention: AttentionBase, kind: Any) -> list[Any]:
    """The parts of a kind in the fields of an attention, at any depth."""
    return [part for _, part in walk(attention) if isinstance(part, kind)]


def _cast(tree: Any, dtype: Any) -> Any:
    """The tree with its floats, but not its integers, in a dtype."""

    def cast(leaf: jax.Array) -> jax.Array:
        return leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    return jax.tree.map(cast, tree)
