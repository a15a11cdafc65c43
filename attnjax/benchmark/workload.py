"""A workload: work that is timed here and, if there is one, in another engine."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A workload whose parameters and data are there.

    Attributes:
        call: does the work once; what it returns is waited for.
        flops: floating-point operations of its products; None: they are not counted.
    """

    call: Callable[[], Any]
    flops: int | None = None


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One line of the table.

    Attributes:
        name: family and size, such as "train-tiny".
        prepare: makes parameters and data.
        peer: the program in `attnjax/benchmark/peers` that does the same, and its arguments; None:
            there is none.
        amount: how many of `unit` a call does; None: the unit is milliseconds a call.
        unit: what is counted, a second.
    """

    name: str
    prepare: Callable[[], Prepared]
    peer: tuple[str, ...] | None = None
    amount: float | None = None
    unit: str = "ms"

    def value(self, seconds: float) -> float:
        """A call's seconds in the workload's unit."""
        return seconds * 1e3 if self.amount is None else self.amount / seconds
