"""How a training step gets faster with the number of devices: virtual CPU devices, on this machine.

    python -m attnjax.benchmark.scaling     prints a JSON object: a step on all devices there are

The devices share this machine's cores, so that no more of them than cores can help; what the table
shows of a real machine is the share of a step that goes into adding up gradients.
"""

import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import jax
from rich.table import Table

from attnjax.benchmark.report import plain_table
from attnjax.benchmark.train import SIZES, Size, batch, on_devices, recipe_of, transformer
from attnjax.errors import MachineError
from attnjax.training.step import on_one_device, train_step

DEVICES = (1, 2, 4, 8)
"""The numbers of devices that `attnjax bench scaling` compares."""

SIZE = "tiny"
TURNS = 7

BYTES = {"f64": 8, "f32": 4, "s32": 4, "u32": 4, "bf16": 2, "f16": 2, "pred": 1}


def measure(count: int) -> dict[str, Any]:
    """A row of the table, measured in a process of its own with `count` virtual CPU devices."""
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}",
    }
    ended = subprocess.run(
        [sys.executable, "-m", "attnjax.benchmark.scaling"],
        env=environment,
        capture_output=True,
        text=True,
    )
    if ended.returncode:
        reason = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise MachineError(f"the measurement with {count} devices failed: {reason}")
    return json.loads(ended.stdout)


def step_times(size: Size, *, turns: int = TURNS) -> dict[str, Any]:
    """The seconds of a step on all devices, with and without the sum over devices.

    Without it every device updates with its own gradient: the same arithmetic, nothing sent. The
    difference is the price of the collectives. Both are timed in turns.
    """
    recipe = recipe_of(transformer(size))
    devices, held, shared = on_devices(recipe, batch(size.rows, size.length))
    step = partial(train_step, recipe=recipe)

    def alone(held: Any, rows: Any, *, over_devices: Any) -> Any:
        return step(held, rows, over_devices=on_one_device)

    programs: list[Any] = [
        devices.compile(each, donate=False).lower(held, shared).compile()  # pyright: ignore
        for each in (step, alone)
    ]
    for program in programs:
        _seconds(program, held, shared)
    samples = [[_seconds(program, held, shared) for program in programs] for _ in range(turns)]
    with_sum, without = (median(column) for column in zip(*samples, strict=True))
    return {
        "devices": devices.count,
        "seconds": with_sum,
        "share": max(0.0, 1 - without / with_sum),
        "bytes": reduced_bytes(programs[0].as_text()),
    }


def _seconds(program: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    jax.block_until_ready(program(*arguments))
    return time.perf_counter() - start


def reduced_bytes(program: str) -> int:
    """The bytes of the results of all all-reduces of a compiled program, on one device."""
    results = re.findall(r"= (.*?) all-reduce(?:-start)?\(", program)
    arrays = (array for result in results for array in re.findall(r"(\w+)\[([\d,]*)\]", result))
    return sum(
        BYTES[kind] * math.prod(map(int, filter(None, shape.split(",")))) for kind, shape in arrays
    )


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """The rows of `measure`, the first of which is that of one device."""
    title = f"a step of the {SIZE} Transformer, {SIZES[SIZE].rows} rows, on virtual CPU devices"
    figures = ("ms a step", "times as fast", "in collectives", "MiB added up")
    drawn = plain_table(["devices"], figures, title)
    for row in rows:
        drawn.add_row(
            str(row["devices"]),
            f"{1e3 * row['seconds']:,.0f}",
            f"{rows[0]['seconds'] / row['seconds']:.2f}",
            f"{row['share']:.0%}",
            f"{row['bytes'] / 2**20:,.1f}",
        )
    return drawn


if __name__ == "__main__":
    print(json.dumps(step_times(SIZES[SIZE])))
