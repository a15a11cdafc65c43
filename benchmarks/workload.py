"""A workload: work that is timed here, and in another engine if there is one."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

CPU_SIDE, GPU_SIDE = 2_048, 8_192
"""The side of the matrices of `product`, large enough for every core to reach its best speed."""

type Clock = Callable[[], float]
"""A function that returns the time in seconds."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A workload with its parameters and data, ready to be timed.

    Attributes:
        call: a function that does the work once and returns arrays to wait for.
        flops: floating-point operations of its products; None: they are not counted.
    """

    call: Callable[[], Any]
    flops: int | None = None

    def seconds(self, calls: int, clock: Clock = time.perf_counter) -> float:
        """Return the seconds of a number of calls."""
        start = clock()
        for _ in range(calls):
            jax.block_until_ready(self.call())
        return clock() - start


def product(side: int, dtype: str = "float32") -> Prepared:
    """Prepare a product of two square matrices, whose speed is the limit of a workload's."""
    left, right = jax.random.normal(jax.random.key(0), (2, side, side), dtype)
    multiply = jax.jit(jnp.matmul)
    return Prepared(call=lambda: multiply(left, right), flops=2 * side**3)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One line of the table.

    Attributes:
        name: the family and size, such as "train-tiny".
        peer: the program in `peers` that does the same, and its arguments; None: there is none.
        amount: the number of units of work in a call; None: milliseconds per call are shown.
        unit: the unit of work per second.
        operands: the dtype in which its products read their operands.
    """

    name: str
    prepare: Callable[[], Prepared]
    peer: tuple[str, ...] | None = None
    amount: float | None = None
    unit: str = "ms"
    operands: str = "float32"

    def value(self, seconds: float) -> float:
        """Convert the seconds of a call to the workload's unit."""
        return seconds * 1e3 if self.amount is None else self.amount / seconds
