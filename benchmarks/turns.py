"""Workloads measured in turns, ours and the peer's: a machine that slows down slows both.

The first call of a turn is not timed: after the other's turn it finds caches and cores cold, and
takes up to twice as long.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import jax

from benchmarks.peer import Peer
from benchmarks.workload import Clock, Prepared, Workload

WARM_UP = 2
FEWEST, MOST, SECONDS = 5, 15, 20.0
"""Turns of a workload, and how long it may take if it has had the fewest."""
SHORTEST = 0.3
"""The seconds that the calls of a turn take together."""


def measure(
    workload: Workload, python: Path | None, product: Prepared, clock: Clock = time.perf_counter
) -> dict[str, Any]:
    """Return a workload's samples, one a turn; in each turn `product` measures the machine's rate.

    `python` is the interpreter of an environment with the peer's engine; None: ours alone.
    """
    with Peer(python, *workload.peer) if python and workload.peer else nullcontext() as peer:
        prepared = workload.prepare()
        ours, theirs, rates = [], [], []
        for warm in (product, prepared):
            warm.seconds(WARM_UP, clock)
        calls = max(1, round(SHORTEST / prepared.seconds(1, clock)))
        start = clock()
        while len(ours) < FEWEST or (len(ours) < MOST and clock() - start < SECONDS):
            jax.block_until_ready(product.call())
            rates.append(_rate(product, product.seconds(1, clock)))
            jax.block_until_ready(prepared.call())
            ours.append(prepared.seconds(calls, clock) / calls)
            if peer:
                theirs.append(peer.seconds(calls) / calls)
        row: dict[str, Any] = {"name": workload.name, "unit": workload.unit}
        row["ours"] = _samples(workload, ours)
        if peer:
            ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
            row |= {"engine": peer.engine, "peer": _samples(workload, theirs)}
            row["ratio"] = {"median": median(ratios), "samples": ratios}
        row["product_gflops"] = median(rates) / 1e9
        if prepared.flops is not None:
            row["flops"] = prepared.flops
            row["share"] = _rate(prepared, median(ours)) / median(rates)
        return row


def _rate(prepared: Prepared, seconds: float) -> float:
    assert prepared.flops is not None
    return prepared.flops / seconds


def _samples(workload: Workload, seconds: Sequence[float]) -> dict[str, Any]:
    values = [workload.value(sample) for sample in seconds]
    return {"median": median(values), "samples": values}


def speed_changes(now: dict[str, Any], then: dict[str, Any]) -> Iterator[tuple[str, float, bool]]:
    """Yield the change of speed of each workload that two reports share, and whether it is sure.

    A change is sure if the middle halves of the samples do not overlap.
    """
    before = {row["name"]: row for row in then["workloads"]}
    for row in now["workloads"]:
        if row["name"] in before:
            ours, old = row["ours"], before[row["name"]]["ours"]
            times = ours["median"] / old["median"]
            low, _, high = quantiles(ours["samples"], n=4)
            old_low, _, old_high = quantiles(old["samples"], n=4)
            # milliseconds shrink where a rate grows
            faster = 1 / times if row["unit"] == "ms" else times
            yield row["name"], faster, low > old_high or high < old_low
