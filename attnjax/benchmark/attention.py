"""Causal attention, forward and backward, 8 heads of 64, one sequence: softmax, windows, linear."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from attnjax.attention.fused.dispatch import fused
from attnjax.attention.linear import LinearAttention
from attnjax.attention.mask import Causal, Mask, Window
from attnjax.benchmark.workload import Prepared, Workload
from attnjax.nn.product import rounded_products

HEADS, WIDTH = 8, 64
LENGTHS = (512, 2_048, 8_192)
WINDOWED = 8_192
"""The length of the sequence in which windows are compared."""
SIZES = (512, 1_024, 2_048)
"""Of windows: so many keys are seen, the query's own the last. The kernel's tiles have 512 keys: a
smaller window costs as much as one of 512."""


def prepare(length: int, rows: int = 1, heads: int = HEADS, dtype: str = "float32") -> Prepared:
    """Causal softmax attention, by the fused kernel."""
    call = gradients(_softmax(Causal()), length, rows, heads, dtype)
    return Prepared(call=call, flops=rows * flops(length, heads=heads))


def prepare_rounded(length: int) -> Prepared:
    """The same with products of operands in bfloat16, on a CPU that multiplies them faster."""
    exact = prepare(length)

    def call() -> Any:
        with rounded_products():
            return exact.call()

    return Prepared(call=call, flops=exact.flops)


def prepare_window(length: int, size: int) -> Prepared:
    """Causal softmax attention to the last `size` keys, by the fused kernel."""
    call = gradients(_softmax(Causal() & Window(size - 1, 0)), length)
    return Prepared(call=call, flops=flops(length, size))


def prepare_linear(length: int) -> Prepared:
    """Causal linear attention with elu + 1, in chunks; its FLOPs are not counted."""
    attend: Any = partial(LinearAttention().apply, {}, mask=Causal(), deterministic=True)
    return Prepared(call=gradients(attend, length))


def gradients(
    attend: Callable[..., jax.Array],
    length: int,
    rows: int = 1,
    heads: int = HEADS,
    dtype: str = "float32",
) -> Callable[[], Any]:
    """A function that computes the gradients of queries, keys and values of a length."""
    keys = jax.random.split(jax.random.key(0), 3)
    given = [jax.random.normal(key, (rows, heads, length, WIDTH), dtype) for key in keys]

    def total(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
        return attend(query, key, value).sum()

    return partial(jax.jit(jax.grad(total, (0, 1, 2))), *given)


def _softmax(mask: Mask) -> Callable[..., jax.Array]:
    return partial(fused, mask=mask, scale=WIDTH**-0.5)


def flops(length: int, window: int | None = None, heads: int = HEADS) -> int:
    """The FLOPs of two products forward and five backward, over the allowed pairs."""
    window = length if window is None else window
    pairs = window * (window + 1) // 2 + (length - window) * window
    return 7 * 2 * heads * WIDTH * pairs


WORKLOADS = tuple(
    Workload(
        name=f"attention-{length}",
        prepare=partial(prepare, length),
        peer=("torch_attention.py", str(length), "1", str(HEADS), "cpu"),
    )
    for length in LENGTHS
)

ROUNDED = tuple(
    Workload(
        name=f"rounded-attention-{length}",
        prepare=partial(prepare_rounded, length),
        peer=("torch_attention.py", str(length), "1", str(HEADS), "cpu", "bfloat16"),
        operands="bfloat16",
    )
    for length in LENGTHS
)
"""The arrays of the peer are bfloat16."""

WINDOWS = tuple(
    Workload(name=f"window-{size}", prepare=partial(prepare_window, WINDOWED, size))
    for size in SIZES
)

LINEAR = tuple(
    Workload(name=f"linear-{length}", prepare=partial(prepare_linear, length)) for length in LENGTHS
)
