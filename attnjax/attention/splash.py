"""Softmax attention without its weights on a TPU, by the splash kernel that JAX ships with."""

from collections.abc import Callable
from functools import reduce
from operator import and_
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from attnjax.attention.mask import Causal, Mask, Padding, Segments, Window
from attnjax.errors import UserError

LANES = 128
"""The kernel reads queries and keys by multiples of that many."""

FORBIDDEN = -0.7 * float(np.finfo(np.float32).max)
"""The logit of a forbidden pair: finite, as the kernel wants it."""


def splash_refuses(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: Mask | None = None,
    *,
    query_position: jax.Array | None = None,
    key_position: jax.Array | None = None,
    bias: Callable[..., jax.Array] | None = None,
) -> str | None:
    """What splash cannot honour; None if it can do it all. Arguments as for `splash`."""
    for x in (query, key, value):
        if x.dtype not in (jnp.dtype("float32"), jnp.dtype("bfloat16")):
            return f"the dtype {x.dtype}; it wants float32 or bfloat16"
    if bias is not None:
        return "a bias that is a function of positions"
    rules = () if mask is None else mask.rules()
    for rule in rules:
        if isinstance(rule, Padding | Segments):
            continue
        sized = isinstance(rule, Window) and all(
            isinstance(reach, int) for reach in (rule.before, rule.after)
        )
        if not (isinstance(rule, Causal) or sized):
            return f"the rule {type(rule).__name__}"
        if query_position is not None or key_position is not None:
            return f"the rule {type(rule).__name__} on positions other than 0, 1, ..."
    if sum(isinstance(rule, Segments) for rule in rules) > 1:
        return "two rules Segments together"
    return None


def splash(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: Mask | None = None,
    *,
    query_position: jax.Array | None = None,
    key_position: jax.Array | None = None,
    bias: Callable[..., jax.Array] | None = None,
    scale: float = 1.0,
) -> jax.Array:
    """As `blockwise`, as far as splash goes: causal and windows on 0, 1, ..., segments, padding.

    What causality and windows empty is not read; segments and padding are compared in every tile.

    Args:
        query: [..., T, K], float32 or bfloat16.
        key: [..., S, K].
        value: [..., S, V].
        mask: any of `Causal`, `Window`, `Padding` and one `Segments`.
        query_position: None, unless no rule asks for it.
        key_position: the same.
        bias: None.
        scale: of the products.

    Returns:
        [..., T, V] in the value's dtype; 0 where a query may attend to nothing.

    Raises:
        UserError: splash cannot honour something, which is named.

    Source: Dao et al. 2022, as `jax.experimental.pallas.ops.tpu.splash_attention`.
    """
    refused = splash_refuses(
        query,
        key,
        value,
        mask,
        query_position=query_position,
        key_position=key_position,
        bias=bias,
    )
    if refused:
        raise UserError(f"the route splash cannot honour {refused}; choose blockwise or dense")
    # Imported where it is used: Pallas' TPU half takes a second that no other route should pay.
    from jax.experimental.pallas.ops.tpu import splash_attention as kernels

    *leading, T, _ = query.shape
    S, more, rules = key.shape[-2], -key.shape[-2] % LANES, () if mask is None else mask.rules()
    rows, columns = T + -T % LANES, S + more
    given = [
        jnp.pad(x.reshape(-1, *x.shape[-2:]), ((0, 0), (0, size - x.shape[-2]), (0, 0)))
        for x, size in ((scale * query, rows), (key, columns), (value, columns))
    ]
    segments = _segments(rules, tuple(leading), (T, S), (rows, columns))
    side = min(512, *(size & -size for size in (rows, columns)))
    blocks = ("block_q", "block_kv", "block_q_dkv", "block_kv_dkv", "block_q_dq", "block_kv_dq")
    attend = kernels.make_splash_mha_single_device(
        kernels.MultiHeadMask([_static(rules, rows, columns)]),
        block_sizes=kernels.BlockSizes(**dict.fromkeys(blocks, side)),
        mask_value=FORBIDDEN,
    )
    # One more key, of value 0 and of a logit below every allowed and above every forbidden one:
    # next to an allowed key it weighs 0, and a row without any gives 0 and has no gradient.
    nobody = jnp.full((1,), FORBIDDEN / 2, jnp.float32)

    def one(example: tuple[Any, ...]) -> jax.Array:
        """[T, K], [S, K], [S, V] and its numbers: an example is the one head of its own."""
        *arrays, ids = example
        own = None if ids is None else kernels.SegmentIds(*ids)
        return attend(*(x[None] for x in arrays), own, nobody)[0]

    # One after the other: under `vmap` the kernel's grid has an axis that it does not expect.
    context = lax.map(one, (*given, segments))
    return context[:, :T].astype(value.dtype).reshape(*leading, T, -1)


def _static(rules: tuple[Mask, ...], rows: int, columns: int):
    """Causality and windows, as the kernel wants them: it leaves out what they empty."""
    from jax.experimental.pallas.ops.tpu import splash_attention as kernels

    behind, ahead = rows + columns, rows + columns
    for rule in rules:
        if isinstance(rule, Causal):
            ahead = 0
        elif isinstance(rule, Window):
            behind, ahead = min(behind, int(rule.before)), min(ahead, int(rule.after))
    if behind == ahead == rows + columns:
        return kernels.FullMask((rows, columns))
    return kernels.LocalMask((rows, columns), (behind, ahead), 0)


def _segments(
    rules: tuple[Mask, ...],
    leading: tuple[int, ...],
    lengths: tuple[int, int],
    sizes: tuple[int, int],
) -> tuple[jax.Array, jax.Array] | None:
    """Numbers [N, T] and [N, S], the same where a pair is allowed; None where all are.

    A key that nobody may read has a number that no query has.
    """
    padding = [rule.present for rule in rules if isinstance(rule, Padding)]
    packed = [rule for rule in rules if isinstance(rule, Segments)]
    if not padding and not packed and lengths[1] == sizes[1]:
        return None
    shapes = [(*leading, length) for length in lengths]
    query, key = (packed[0].query, packed[0].key) if packed else (0, 0)
    query, key = (
        jnp.broadcast_to(x, shape).astype(jnp.int32).reshape(-1, shape[-1])
        for x, shape in zip((query, key), shapes, strict=True)
    )
    everyone = jnp.ones(shapes[1], bool)
    present = reduce(and_, (jnp.broadcast_to(x, shapes[1]) for x in padding), everyone)
    present = present.reshape(key.shape)
    none = query.min() - 1
    key = jnp.where(present, key, none)
    query, key = (
        jnp.pad(x, ((0, 0), (0, size - x.shape[1])), constant_values=0)
        for x, size in zip((query, key), sizes, strict=True)
    )
    return query, jnp.where(jnp.arange(sizes[1]) < lengths[1], key, none)
