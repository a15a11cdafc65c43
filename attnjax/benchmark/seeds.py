"""Seeds that train together, in one program, beside seeds that train one after the other."""

import sys
import time
from collections.abc import Mapping
from statistics import median
from typing import Any

from rich.table import Table

from attnjax.benchmark.train import Size, batch, prepare, transformer
from attnjax.benchmark.workload import Clock
from attnjax.console import plain_table
from attnjax.reporting.number import number

SEEDS = 8
TURNS = 7
"""The number of times that both are timed, one after the other."""
SHORTEST = 0.3
"""A turn is as many steps as take so many seconds."""
VOCABULARY = 1_000

SIZES = {
    "width 32, 2 layers, 128 tokens": Size(32, 64, 2, 2, 16, 8),
    "width 64, 2 layers, 512 tokens": Size(64, 128, 2, 4, 32, 16),
    "width 128, 2 layers, 1,024 tokens": Size(128, 256, 2, 4, 32, 32),
    "width 256, 3 layers, 1,024 tokens": Size(256, 1_024, 3, 4, 32, 32),
}
"""Transformers, and the target tokens of a step of each seed."""


def measure() -> dict[str, Any]:
    """The rows of all sizes."""
    return {"seeds": seed_times()}


def seed_times(
    sizes: Mapping[str, Size] = SIZES,
    *,
    turns: int = TURNS,
    shortest: float = SHORTEST,
    clock: Clock = time.perf_counter,
) -> list[dict[str, Any]]:
    """The median seconds of a step of `SEEDS` seeds, one after the other ("alone") and "together".

    They are timed in turns of at least `shortest` seconds. "times" is how many times as fast they
    are together, the median over the turns.
    """
    rows = []
    for name, size in sizes.items():
        print(name, file=sys.stderr)
        model = transformer(size, VOCABULARY)
        given = batch(size.rows, size.length, vocabulary=VOCABULARY)
        single, all_of_them = (prepare(model, given, seeds=n) for n in (1, SEEDS))
        for prepared in (single, all_of_them):
            prepared.seconds(2, clock)  # compiles
        steps = max(1, round(shortest / max(all_of_them.seconds(1, clock), 1e-9)))
        alone, together = [], []
        for _ in range(turns):
            alone.append(single.seconds(steps * SEEDS, clock) / steps)
            together.append(all_of_them.seconds(steps, clock) / steps)
        times = median(a / b for a, b in zip(alone, together, strict=True))
        row = {"alone": median(alone), "together": median(together), "times": times}
        rows.append({"name": name, **row})
    return rows


def tables(content: dict[str, Any]) -> list[Table]:
    """The table of what `measure` returns."""
    figures = (f"{SEEDS} seeds alone", f"{SEEDS} seeds together", "times as fast")
    drawn = plain_table(["Transformer, batch of a seed"], figures)
    for row in content["seeds"]:
        alone, together = (f"{number(row[way] * 1e3, 3)} ms" for way in ("alone", "together"))
        drawn.add_row(row["name"], alone, together, f"{row['times']:.2f}")
    return [drawn]
