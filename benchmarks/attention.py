"""Causal attention, forward and backward, 8 heads of 64, one sequence.

Softmax, also with caps, sinks and forget gates; windows, linear attention, the gated delta rule.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.dispatch import fused
from attnjax.attention.fused.inputs import Inputs, SideBias
from attnjax.attention.mask import Causal, Window
from attnjax.attention.state.chunked import CHUNK, Words, causal_contexts
from attnjax.attention.state.linear import LinearAttention
from attnjax.nn.product import rounded_products
from benchmarks.workload import Prepared, Workload

HEADS, WIDTH = 8, 64
LENGTHS = (512, 2_048, 8_192)
WINDOWED = 8_192
"""The length of the sequence in which windows are compared."""
SIZES = (512, 1_024, 2_048)
"""Of windows: the number of keys that a query sees, its own included. The kernel's tiles have 512
keys: a smaller window costs as much as one of 512."""


def prepare(
    length: int,
    rows: int = 1,
    heads: int = HEADS,
    dtype: str = "float32",
    window: int | None = None,
) -> Prepared:
    """Prepare causal softmax attention by the fused kernel, to the last `window` keys or to all."""
    mask = Causal() if window is None else Causal() & Window(window - 1, 0)
    attend = partial(fused, mask=mask, scale=WIDTH**-0.5, layout="BNTH")
    call = gradients(attend, length, rows, heads, dtype)
    return Prepared(call=call, flops=rows * flops(length, window, heads))


def prepare_rounded(length: int) -> Prepared:
    """Prepare the same with operands rounded to bfloat16, on a CPU that multiplies them faster."""
    exact = prepare(length)

    def call() -> Any:
        with rounded_products():
            return exact.call()

    return Prepared(call=call, flops=exact.flops)


def prepare_linear(length: int) -> Prepared:
    """Prepare causal linear attention with elu + 1, in chunks; its FLOPs are not counted."""
    attend: Any = partial(LinearAttention().apply, {}, mask=Causal(), deterministic=True)
    return Prepared(call=gradients(attend, length))


def prepare_capped(length: int) -> Prepared:
    """Prepare the same as `prepare`, with logits bounded by 30 tanh(logits / 30)."""
    return _of_all_pairs(partial(fused, mask=Causal(), cap=30.0, layout="BNTH"), length)


def prepare_sink(length: int) -> Prepared:
    """Prepare the same as `prepare`, with a sink in the softmax of each head."""
    sink = jnp.zeros((HEADS, 1, 1))
    return _of_all_pairs(partial(fused, mask=Causal(), sink=sink, layout="BNTH"), length)


def prepare_forgetting(length: int) -> Prepared:
    """Prepare the same as `prepare`, with a decay's bias: sums of log gates of -0.05."""
    sums = jnp.broadcast_to(-0.05 * jnp.arange(length), (1, HEADS, length))

    def attend(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
        sides = SideBias(sums, -sums)
        return blockwise(Inputs(query, key, value, Causal(), scale=WIDTH**-0.5, sides=sides))

    return _of_all_pairs(attend, length)


def _of_all_pairs(attend: Callable[..., jax.Array], length: int) -> Prepared:
    return Prepared(call=gradients(attend, length), flops=flops(length))


def prepare_delta(length: int) -> Prepared:
    """Prepare the gated delta rule in chunks, a decay a word, keys of norm 1."""
    numbers = jnp.ones((1, HEADS, length, 1))

    def attend(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
        key = key / jnp.linalg.norm(key, axis=-1, keepdims=True)
        words = Words(key, value, -0.05 * numbers, 0.5 * numbers)
        return causal_contexts(query, words, delta_rule=True)

    return Prepared(call=gradients(attend, length), flops=delta_flops(length))


def delta_flops(length: int) -> int:
    """Count the FLOPs that the delta rule needs in chunks of C words, gradients included.

    Of the pairs of words s <= t of a chunk: k k^T, q k^T and the products with them and with the
    inverse of the triangular system, which takes C^3 / 3. Of words and states: what a state holds
    at the keys, what queries read, what is written. A backward pass is two products for each one.
    """
    pairs = CHUNK * (CHUNK + 1) // 2
    of_chunk = 2 * pairs * 5 * WIDTH + CHUNK**3 // 3 + 3 * 2 * CHUNK * WIDTH**2
    return 3 * HEADS * (length // CHUNK) * of_chunk


def prepare_products(length: int) -> Prepared:
    """Prepare one product a head and chunk, with its gradients: the size of the delta rule's."""
    shape = (HEADS * length // CHUNK, CHUNK, WIDTH)
    left, right = (jax.random.normal(jax.random.key(side), shape) for side in (0, 1))

    def total(left: jax.Array, right: jax.Array) -> jax.Array:
        return jnp.square(left @ jnp.swapaxes(right, -1, -2)).sum()

    # forward, and one for each operand
    products = 3 * 2 * shape[0] * CHUNK * CHUNK * WIDTH
    return Prepared(call=partial(jax.jit(jax.grad(total, (0, 1))), left, right), flops=products)


def gradients(
    attend: Callable[..., jax.Array],
    length: int,
    rows: int = 1,
    heads: int = HEADS,
    dtype: str = "float32",
) -> Callable[[], Any]:
    """Return a function that computes the gradients of queries, keys and values of a length."""
    keys = jax.random.split(jax.random.key(0), 3)
    given = [jax.random.normal(key, (rows, heads, length, WIDTH), dtype) for key in keys]

    def total(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
        return attend(query, key, value).sum()

    return partial(jax.jit(jax.grad(total, (0, 1, 2))), *given)


def flops(length: int, window: int | None = None, heads: int = HEADS) -> int:
    """Count the FLOPs of two products forward and five backward, over the allowed pairs."""
    window = length if window is None else window
    pairs = window * (window + 1) // 2 + (length - window) * window
    return 7 * 2 * heads * WIDTH * pairs


def _of_each_length(
    prefix: str, prepare_length: Callable[[int], Prepared], dtype: str
) -> tuple[Workload, ...]:
    """Return a workload for each length; `dtype` is that of our operands and the peer's arrays."""
    return tuple(
        Workload(
            name=f"{prefix}-{length}",
            prepare=partial(prepare_length, length),
            peer=("torch_attention.py", str(length), "1", str(HEADS), "cpu", dtype),
            operands=dtype,
        )
        for length in LENGTHS
    )


WORKLOADS = _of_each_length("attention", prepare, "float32")

ROUNDED = _of_each_length("rounded-attention", prepare_rounded, "bfloat16")

WINDOWS = tuple(
    Workload(name=f"window-{size}", prepare=partial(prepare, WINDOWED, window=size))
    for size in SIZES
)

LINEAR = tuple(
    Workload(name=f"linear-{length}", prepare=partial(prepare_linear, length)) for length in LENGTHS
)

TODAY = tuple(
    Workload(name=f"{name}-2048", prepare=partial(prepared, 2_048))
    for name, prepared in (
        ("capped", prepare_capped),
        ("sink", prepare_sink),
        ("forgetting", prepare_forgetting),
    )
)

DELTA = (
    Workload(name="delta-2048", prepare=partial(prepare_delta, 2_048)),
    # what its chunks can reach: products of their size are slower than large ones
    Workload(name="delta-products-2048", prepare=partial(prepare_products, 2_048)),
)
