"""Fused softmax attention on a TPU, by the splash kernel that ships with JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.mask import Causal, Padding, Segments, Window

LANES = 128
"""The kernel takes numbers of queries and keys that are multiples of this."""

BLOCK, COMPUTED = 1024, 512
"""The greatest number of queries, and of keys, that the kernel reads at once, and the greatest
number of keys whose logits it computes at once.

The keys are read again for every block of queries. With blocks of 512 a TPU v5e would wait for its
memory; the logits of 1,024 by 1,024 in each of several arrays would not fit into the chip's.
"""

FORBIDDEN = -0.7 * float(np.finfo(np.float32).max)
"""The logit of a forbidden pair: the kernel wants a finite number."""


def splash_refuses(inputs: Inputs) -> str | None:
    """Return the part of the inputs that splash cannot compute, in words, or None."""
    for x in (inputs.query, inputs.key, inputs.value):
        if x.dtype not in (jnp.dtype("float32"), jnp.dtype("bfloat16")):
            return f"the dtype {x.dtype}: it must be float32 or bfloat16"
    if not inputs.query.shape[:-2] == inputs.key.shape[:-2] == inputs.value.shape[:-2]:
        return "keys or values that several examples share"
    if refused := inputs.refused_extra("cap", "sink"):
        return refused
    if refused := inputs.refused_rule(Padding, Segments, Causal, Window):
        return refused
    if sum(isinstance(rule, Segments) for rule in inputs.rules()) > 1:
        return "two masks Segments together"
    return None


def splash(inputs: Inputs) -> jax.Array:
    """Return the context [..., T, V]; 0 where a query may attend to nothing.

    Tiles that causality and windows empty are skipped; segments and padding are compared in every
    other tile.

    Source: Dao et al. 2022, as `jax.experimental.pallas.ops.tpu.splash_attention`.
    """
    # Imported here: importing Pallas for TPUs takes a second, which other kernels need not pay.
    from jax.experimental.pallas.ops.tpu import splash_attention as kernels

    query, key, value = inputs.query, inputs.key, inputs.value
    T, S = query.shape[-2], key.shape[-2]
    rows, columns = T + -T % LANES, S + -S % LANES
    padded_query, padded_key, padded_value = (
        jnp.pad(x.reshape(-1, *x.shape[-2:]), ((0, 0), (0, size - x.shape[-2]), (0, 0)))
        for x, size in ((inputs.scale * query, rows), (key, columns), (value, columns))
    )
    segments = _segments(inputs, (rows, columns))
    blocks = kernels.BlockSizes(
        block_q=_block(rows),
        block_kv=_block(columns),
        block_kv_compute=_block(columns, COMPUTED),
        block_q_dkv=_block(rows),
        block_kv_dkv=_block(columns),
        block_kv_dkv_compute=_block(columns, COMPUTED),
        block_q_dq=_block(rows),
        block_kv_dq=_block(columns, COMPUTED),
    )
    attend = kernels.make_splash_mha_single_device(
        kernels.MultiHeadMask([_static(inputs, rows, columns)]),
        block_sizes=blocks,
        mask_value=FORBIDDEN,
        attn_logits_soft_cap=inputs.constants[1],
    )

    def of_example(
        query: jax.Array, key: jax.Array, value: jax.Array, ids: Any, sink: jax.Array
    ) -> jax.Array:
        """Return an example's context, [T, K], [S, K], [S, V] and its segments, as one head."""
        own = None if ids is None else kernels.SegmentIds(*ids)
        return attend(query[None], key[None], value[None], own, sink)[0]

    # Mapped examples are one more axis of the kernel's grid.
    context = jax.vmap(of_example)(
        padded_query, padded_key, padded_value, segments, _sinks(inputs, len(padded_query))
    )
    return context[:, :T].astype(value.dtype).reshape(*query.shape[:-1], -1)


def _sinks(inputs: Inputs, examples: int) -> jax.Array:
    """Return the logit of one more key with value 0, [N, 1].

    Without a sink it is below all allowed and above all forbidden logits: beside an allowed key its
    weight is 0; in a row without one its weight is 1, so the context is 0, as with any sink.
    """
    if inputs.sink is None:
        return jnp.full((examples, 1), FORBIDDEN / 2, jnp.float32)
    sink = jnp.broadcast_to(inputs.sink, (*inputs.query.shape[:-2], 1, 1))
    return sink.astype(jnp.float32).reshape(examples, 1)


def _block(size: int, most: int = BLOCK) -> int:
    """Return the greatest power of two that divides a size, at most `most`."""
    return min(most, size & -size)


def _static(inputs: Inputs, rows: int, columns: int):
    """Return causality and windows as the kernel's own mask, of which it skips the empty tiles."""
    from jax.experimental.pallas.ops.tpu import splash_attention as kernels

    farthest = rows + columns
    before, after = (min(farthest, reach) for reach in inputs.window() or (farthest, farthest))
    if inputs.is_causal():
        after = 0
    if before == after == farthest:
        return kernels.FullMask((rows, columns))
    return kernels.LocalMask((rows, columns), (before, after), 0)


def _segments(inputs: Inputs, sizes: tuple[int, int]) -> tuple[jax.Array, jax.Array] | None:
    """Return segment numbers [N, T] and [N, S], equal if a pair is allowed; None: all are.

    A key that no query may attend to has a number that no query has.
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
