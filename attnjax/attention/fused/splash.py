"""Softmax attention without its weights on a TPU, by the splash kernel that JAX ships with."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.mask import Causal, Mask, Padding, Segments, Window

LANES = 128
"""The kernel reads queries and keys by multiples of that many."""

FORBIDDEN = -0.7 * float(np.finfo(np.float32).max)
"""The logit of a forbidden pair: finite, as the kernel wants it."""


def splash_refuses(inputs: Inputs) -> str | None:
    """What splash cannot honour; None if it can do it all."""
    for x in (inputs.query, inputs.key, inputs.value):
        if x.dtype not in (jnp.dtype("float32"), jnp.dtype("bfloat16")):
            return f"the dtype {x.dtype}; it wants float32 or bfloat16"
    if inputs.bias is not None:
        return "a bias that is a function of positions"
    rules = inputs.rules()
    for rule in rules:
        if isinstance(rule, Padding | Segments):
            continue
        if not (isinstance(rule, Causal) or (isinstance(rule, Window) and rule.reach())):
            return f"the rule {type(rule).__name__}"
        if inputs.numbered():
            return f"the rule {type(rule).__name__} on positions other than 0, 1, ..."
    if sum(isinstance(rule, Segments) for rule in rules) > 1:
        return "two rules Segments together"
    return None


def splash(inputs: Inputs) -> jax.Array:
    """The context [..., T, V] of what splash does not refuse; 0 where nothing may be attended to.

    What causality and windows empty is not read; segments and padding are compared in every tile.

    Args:
        inputs: in float32 or bfloat16, with any of `Causal`, `Window` on 0, 1, ..., `Padding`, and
            one `Segments`.

    Source: Dao et al. 2022, as `jax.experimental.pallas.ops.tpu.splash_attention`.
    """
    # Imported where it is used: Pallas' TPU half takes a second that no other route should pay.
    from jax.experimental.pallas.ops.tpu import splash_attention as kernels

    query, key, value = inputs.query, inputs.key, inputs.value
    T, S = query.shape[-2], key.shape[-2]
    rows, columns = T + -T % LANES, S + -S % LANES
    given = [
        jnp.pad(x.reshape(-1, *x.shape[-2:]), ((0, 0), (0, size - x.shape[-2]), (0, 0)))
        for x, size in ((inputs.scale * query, rows), (key, columns), (value, columns))
    ]
    segments = _segments(inputs, (rows, columns))
    side = min(512, *(size & -size for size in (rows, columns)))
    blocks = ("block_q", "block_kv", "block_q_dkv", "block_kv_dkv", "block_q_dq", "block_kv_dq")
    attend = kernels.make_splash_mha_single_device(
        kernels.MultiHeadMask([_static(inputs.rules(), rows, columns)]),
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
    return context[:, :T].astype(value.dtype).reshape(*query.shape[:-1], -1)


def _static(rules: tuple[Mask, ...], rows: int, columns: int):
    """Causality and windows, as the kernel wants them: it leaves out what they empty."""
    from jax.experimental.pallas.ops.tpu import splash_attention as kernels

    behind, ahead = rows + columns, rows + columns
    for rule in rules:
        if isinstance(rule, Causal):
            ahead = 0
        elif isinstance(rule, Window) and (reach := rule.reach()):
            behind, ahead = min(behind, reach[0]), min(ahead, reach[1])
    if behind == ahead == rows + columns:
        return kernels.FullMask((rows, columns))
    return kernels.LocalMask((rows, columns), (behind, ahead), 0)


def _segments(inputs: Inputs, sizes: tuple[int, int]) -> tuple[jax.Array, jax.Array] | None:
    """Numbers [N, T] and [N, S], the same where a pair is allowed; None where all are.

    A key that nobody may read has a number that no query has.
    """
    shapes, present = [x.shape[:-1] for x in (inputs.query, inputs.key)], inputs.present()
    packed = [rule for rule in inputs.rules() if isinstance(rule, Segments)]
    if present is None and not packed and shapes[1][-1] == sizes[1]:
        return None
    query, key = (packed[0].query, packed[0].key) if packed else (0, 0)
    query, key = (
        jnp.broadcast_to(x, shape).astype(jnp.int32).reshape(-1, shape[-1])
        for x, shape in zip((query, key), shapes, strict=True)
    )
    none = query.min() - 1
    if present is not None:
        key = jnp.where(present.reshape(key.shape), key, none)
    fill = [(0, size - shape[-1]) for size, shape in zip(sizes, shapes, strict=True)]
    key = jnp.where(jnp.arange(sizes[1]) < key.shape[1], jnp.pad(key, ((0, 0), fill[1])), none)
    return jnp.pad(query, ((0, 0), fill[0])), key
